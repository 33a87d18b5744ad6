"""Small programs in the manner of autograd's users. Each takes the library's namespace, so that it runs with both.

`lib` has what `import autograd` gives, with its parts (numpy, scipy, misc, extend) as attributes.
"""

import math
from itertools import pairwise

import numpy as onp
from scipy import optimize
from sklearn.datasets import load_digits


def logistic_regression(lib):
    """Training by plain steps."""
    np = lib.numpy
    inputs = np.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
    targets = np.array([True, True, False, True])
    sigmoid = lambda x: 0.5 * (np.tanh(x / 2.0) + 1)

    def loss(weights):
        p = sigmoid(np.dot(inputs, weights))
        return -np.sum(np.log(p * targets + (1 - p) * (1 - targets)))

    slope, weights = lib.grad(loss), np.array([0.0, 0.0, 0.0])
    for _ in range(60):
        weights = weights - slope(weights) * 0.01
    lib.test_util.check_grads(loss, modes=["rev"])(weights)
    return weights, loss(weights)


def neural_net_on_digits(lib):
    """Layers of weights in a list of tuples, Adam on batches of real images."""
    np, npr = lib.numpy, lib.numpy.random.RandomState(0)
    images, labels = load_digits(return_X_y=True)
    images, labels = images[:400] / 16.0, onp.eye(10)[labels[:400]]
    sizes, batch = [64, 20, 10], 50
    params = [(0.1 * npr.randn(m, n), 0.1 * npr.randn(n)) for m, n in pairwise(sizes)]

    def predict(params, inputs):
        for w, b in params:
            outputs = np.dot(inputs, w) + b
            inputs = np.tanh(outputs)
        return outputs - lib.scipy.special.logsumexp(outputs, axis=1, keepdims=True)

    def objective(params, i):
        part = slice(i % 8 * batch, (i % 8 + 1) * batch)
        flat, _ = lib.misc.flatten(params)
        return -np.sum(predict(params, images[part]) * labels[part]) + 0.5 * 0.1 * np.dot(flat, flat)

    fitted = lib.misc.optimizers.adam(lib.grad(objective), params, step_size=0.01, num_iters=24)
    right = onp.mean(onp.argmax(predict(fitted, images), axis=1) == onp.argmax(labels, axis=1))
    return fitted, right


def gaussian_process(lib):
    """The likelihood of a Gaussian process, maximized in its hyperparameters by SciPy; predictions."""
    np, mvn = lib.numpy, lib.scipy.stats.multivariate_normal
    x = onp.linspace(-2.0, 2.0, 12)[:, None]
    y = onp.sin(2.0 * x[:, 0])

    def covariance(params, a, b):
        scale, lengths = np.exp(params[0]), np.exp(params[1:])
        gap = np.expand_dims(a / lengths, 1) - np.expand_dims(b / lengths, 0)
        return scale * np.exp(-0.5 * np.sum(gap**2, axis=2))

    def unpack(params):
        return params[0], params[2:], np.exp(params[1]) + 0.001

    def negative_likelihood(params):
        mean, kernel, noise = unpack(params)
        return -mvn.logpdf(y, mean * np.ones(len(y)), covariance(kernel, x, x) + noise * np.eye(len(y)))

    steps = {"maxiter": 6}
    found = optimize.minimize(lib.value_and_grad(negative_likelihood), onp.zeros(4), jac=True, options=steps).x
    mean, kernel, noise = unpack(found)
    there = onp.linspace(-2.0, 2.0, 5)[:, None]
    weights = np.linalg.solve(covariance(kernel, x, x) + noise * np.eye(len(y)), y - mean)
    return found, mean + np.dot(covariance(kernel, there, x), weights)


def differential_equation(lib):
    """Parameters of an oscillator, by the gradient through odeint."""
    np, odeint = lib.numpy, lib.scipy.integrate.odeint
    t = onp.linspace(0.0, 4.0, 12)
    motion = lambda y, t, params: np.array([y[1], -params[0] * y[0] - params[1] * y[1]])
    measured = odeint(motion, onp.array([1.0, 0.0]), t, (onp.array([2.0, 0.3]),))

    def misfit(params, y0):
        return np.mean((odeint(motion, y0, t, lib.tuple((params,)), rtol=1e-9, atol=1e-9) - measured) ** 2)

    return lib.value_and_grad(misfit, argnum=(0, 1))(onp.array([1.5, 0.1]), onp.array([0.9, 0.2]))


def fluid(lib):
    """A velocity field moved along itself and made free of divergence; the gradient in the field at the start."""
    np = lib.numpy
    rolled = lambda a, d, axis: np.roll(a, d, axis=axis)
    n = 10
    target = onp.exp(-onp.add.outer((onp.arange(n) - 6.0) ** 2, (onp.arange(n) - 4.0) ** 2) / 8.0)

    def project(vx, vy):
        divergence = -0.5 / n * (rolled(vx, -1, 1) - rolled(vx, 1, 1) + rolled(vy, -1, 0) - rolled(vy, 1, 0))
        p = np.zeros((n, n))
        for _ in range(5):
            around = rolled(p, 1, 1) + rolled(p, -1, 1) + rolled(p, 1, 0) + rolled(p, -1, 0)
            p = (divergence + around) / 4.0
        return vx - 0.5 * n * (rolled(p, -1, 1) - rolled(p, 1, 1)), vy - 0.5 * n * (rolled(p, -1, 0) - rolled(p, 1, 0))

    def advect(f, vx, vy):
        ys, xs = onp.meshgrid(onp.arange(n), onp.arange(n))
        x, y = (xs - vx).ravel(), (ys - vy).ravel()
        left, top = np.floor(x).astype(int), np.floor(y).astype(int)
        rw, bw = x - left, y - top
        left, right = np.mod(left, n), np.mod(left + 1, n)
        top, bottom = np.mod(top, n), np.mod(top + 1, n)
        flat = (1 - rw) * ((1 - bw) * f[left, top] + bw * f[left, bottom])
        return np.reshape(flat + rw * ((1 - bw) * f[right, top] + bw * f[right, bottom]), (n, n))

    def loss(velocity):
        vx, vy = velocity[0], velocity[1]
        smoke = onp.exp(-onp.add.outer((onp.arange(n) - 3.0) ** 2, (onp.arange(n) - 5.0) ** 2) / 6.0)
        for _ in range(3):
            vx, vy = project(advect(vx, vx, vy), advect(vy, vx, vy))
            smoke = advect(smoke, vx, vy)
        return np.mean((target - smoke) ** 2)

    start = 0.3 * onp.random.RandomState(1).randn(2, n, n)
    return lib.value_and_grad(loss)(start)


def mixture(lib):
    """A mixture of Gaussians by Newton's method with products of the Hessian."""
    np, npr = lib.numpy, onp.random.RandomState(3)
    data = onp.concatenate([npr.randn(30, 2) * 0.5 + [1.0, 1.0], npr.randn(30, 2) * 0.3 - [1.0, 0.5]])
    start = {
        "log proportions": onp.zeros(2),
        "means": npr.randn(2, 2),
        "lower triangles": onp.stack([onp.eye(2) + 0.1, onp.eye(2) - 0.1]),
    }
    start_vector, unflatten = lib.misc.flatten(start)

    def negative_likelihood(vector):
        params = unflatten(vector)
        weights = params["log proportions"] - lib.scipy.special.logsumexp(params["log proportions"])
        parts = []
        for weight, mean, factor in zip(weights, params["means"], params["lower triangles"], strict=True):
            lower = np.tril(factor)
            covariance = np.dot(lower, lower.T) + 0.05 * np.eye(2)
            parts.append(weight + lib.scipy.stats.multivariate_normal.logpdf(data, mean, covariance))
        return -np.sum(lib.scipy.special.logsumexp(np.vstack(parts), axis=0))

    product = lib.hessian_vector_product(negative_likelihood)
    found = optimize.minimize(
        lib.value_and_grad(negative_likelihood),
        start_vector,
        jac=True,
        hessp=product,
        method="trust-ncg",
        options={"maxiter": 6},
    )
    return found.fun, product(start_vector, start_vector)


def black_box_inference(lib):
    """Variational inference with the reparametrized gradient of a bound on the evidence."""
    np, npr, norm = lib.numpy, lib.numpy.random, lib.scipy.stats.norm
    rs = npr.RandomState(0)

    def log_density(x, t):
        mu, log_sigma = x[:, 0], x[:, 1]
        sigma = norm.logpdf(log_sigma, 0.0, 1.35)
        return sigma + norm.logpdf(mu, 0.0, np.exp(log_sigma))

    def objective(params, t):
        mean, log_std = params[:2], params[2:]
        samples = rs.randn(40, 2) * np.exp(log_std) + mean
        entropy = 0.5 * 2 * (1.0 + math.log(2 * math.pi)) + np.sum(log_std)
        return -entropy - np.mean(log_density(samples, t))

    start = onp.concatenate([-onp.ones(2), -2.0 * onp.ones(2)])
    return lib.misc.optimizers.adam(lib.grad(objective), start, step_size=0.1, num_iters=30)


def recurrent_net(lib):
    """A net with state over a text, parameters in a dictionary."""
    np, rs = lib.numpy, onp.random.RandomState(2)
    text = "there was a young lady of wight"
    codes = onp.eye(27)[[0 if c == " " else ord(c) - 96 for c in text]]
    params = {
        "init hiddens": rs.randn(1, 8) * 0.1,
        "change": rs.randn(27 + 8 + 1, 8) * 0.1,
        "predict": rs.randn(8 + 1, 27) * 0.1,
    }

    def joined(weights, *parts):
        return np.dot(np.hstack((*parts, np.ones((parts[0].shape[0], 1)))), weights)

    def loss(params, inputs):
        hiddens = np.repeat(params["init hiddens"], 1, axis=0)
        outputs = []
        for t in range(len(inputs) - 1):
            hiddens = np.tanh(joined(params["change"], inputs[t : t + 1], hiddens))
            scores = joined(params["predict"], hiddens)
            outputs.append(scores - lib.scipy.special.logsumexp(scores, axis=1, keepdims=True))
        return -sum(np.sum(o * inputs[t + 1]) for t, o in enumerate(outputs)) / len(outputs)

    trained = lib.misc.optimizers.rmsprop(lambda p, i: lib.grad(loss)(p, codes), params, num_iters=6, step_size=0.05)
    return trained, loss(trained, codes)


def tanh_curves(lib):
    """Derivatives of tanh up to the fifth."""
    np, f, x = lib.numpy, lib.numpy.tanh, onp.linspace(-3.0, 3.0, 15)
    curves = []
    for _ in range(6):
        curves.append(f(x))
        f = lib.elementwise_grad(f)
    return np.array(curves)


def rosenbrock(lib):
    """A Jacobian and a Hessian, and SciPy's descent with both."""
    np = lib.numpy

    def valley(x):
        return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2

    result = optimize.minimize(
        valley, onp.array([-1.0, 2.0]), jac=lib.grad(valley), hess=lib.hessian(valley), method="Newton-CG"
    )
    return result.x, lib.jacobian(lambda x: np.array([x[0] * x[1], np.sin(x[0]), x[1] ** 2]))(onp.array([0.3, 0.7]))


def own_primitive(lib):
    """A numerically safe function with its own rule."""
    np = lib.numpy

    @lib.extend.primitive
    def log_sum_exp(x):
        top = onp.max(x)
        return top + onp.log(onp.sum(onp.exp(x - top)))

    lib.extend.defvjp(log_sum_exp, lambda ans, x: lambda g: np.full(x.shape, g) * np.exp(x - np.full(x.shape, ans)))
    example = lambda y: log_sum_exp(y**2 * 300.0)
    return lib.grad(example)(onp.array([1.5, 6.7, 1e-10])), lib.hessian(log_sum_exp)(onp.array([0.1, 0.2, -0.4]))


def convolutional_net(lib):
    """Two filters, a maximum over blocks, a linear layer."""
    np, rs, convolve = lib.numpy, onp.random.RandomState(4), lib.scipy.signal.convolve
    images = rs.rand(3, 1, 8, 8)
    params = {"filters": rs.randn(1, 2, 3, 3) * 0.3, "biases": rs.randn(1, 2, 1, 1), "linear": rs.randn(2 * 9, 4)}

    def loss(params):
        maps = convolve(images, params["filters"], axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid")
        maps = np.tanh(maps + params["biases"])
        blocks = np.reshape(maps, (3, 2, 3, 2, 3, 2))
        pooled = np.max(np.max(blocks, axis=3), axis=4)
        scores = np.dot(np.reshape(pooled, (3, -1)), params["linear"])
        return -np.mean(scores[:, 1] - lib.scipy.special.logsumexp(scores, axis=1))

    return lib.value_and_grad(loss)(params)


def learned_steps(lib):
    """The gradient of the end of training in its rates: descent is differentiated."""
    np = lib.numpy

    def trained(log_rates):
        w = np.zeros(3)
        loss = lambda w: np.sum((w - np.array([1.0, -2.0, 0.5])) ** 2 * np.array([1.0, 4.0, 0.25]))
        velocity = np.zeros(3)
        for i in range(len(log_rates)):
            velocity = 0.5 * velocity - lib.grad(loss)(w)
            w = w + np.exp(log_rates[i]) * velocity
        return loss(w)

    return lib.value_and_grad(trained)(onp.array([-3.0, -2.5, -2.0, -2.2]))


def quantum_state(lib):
    """A state steered by pulses: complex numbers, a real fidelity; and a gradient in a complex amplitude."""
    np = lib.numpy
    x, z = onp.array([[0, 1], [1, 0]], complex), onp.array([[1, 0], [0, -1]], complex)

    def fidelity(pulses):
        state = onp.array([1.0 + 0j, 0.0])
        for p in pulses:
            angle = np.sqrt(p**2 + 0.25)
            turn = np.cos(angle) * np.eye(2) - 1j * np.sin(angle) / angle * (p * x + 0.5 * z)
            state = np.dot(turn, state)
        return np.abs(state[1]) ** 2

    energy = lambda c: np.real(np.conj(c[0]) * c[1] * (2 + 1j)) + np.sum(np.abs(c) ** 4)
    amplitude = onp.array([0.3 + 0.4j, -0.2 + 1.1j])
    slopes = lib.grad(fidelity)(onp.array([0.2, 0.9, 0.4]))
    return slopes, lib.grad(energy)(amplitude), lib.holomorphic_grad(lambda c: np.exp(c) * c)(0.3 + 0.7j)


def implicit_layer(lib):
    """The fixed point of a small net, differentiated without its iterations; a square root by Newton's steps."""
    np, fixed_point = lib.numpy, lib.misc.fixed_points.fixed_point
    weights = 0.2 * onp.random.RandomState(5).randn(4, 4)
    step = lambda b: lambda x: np.tanh(np.dot(weights, x) + b)
    gap = lambda x, y: np.max(np.abs(x - y))

    def loss(b):
        return np.sum(fixed_point(step, b, onp.zeros(4), gap, 1e-13) ** 2)

    root = lambda a: fixed_point(lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: np.abs(x - y), 1e-13)
    return lib.value_and_grad(loss)(onp.array([0.1, 0.5, -0.3, 0.2])), root(2.0), lib.grad(root)(2.0)


def survival_model(lib):
    """Likelihoods of gamma, t, beta and Poisson distributions, and curvature by make_hvp and make_ggnvp."""
    np, stats = lib.numpy, lib.scipy.stats
    waits, counts = onp.array([0.4, 1.3, 2.2, 0.9]), onp.array([1.0, 0.0, 4.0, 2.0])
    shares, errors = onp.array([0.2, 0.6, 0.9, 0.4]), onp.array([-0.3, 1.2, 0.1, -2.0])

    def negative_likelihood(p):
        a, b, nu, mu = np.exp(p)
        total = np.sum(stats.gamma.logpdf(waits, a)) + np.sum(stats.beta.logpdf(shares, a, b))
        return -total - np.sum(stats.t.logpdf(errors, nu, 0.1, 1.5)) - np.sum(stats.poisson.logpmf(counts, mu))

    point = onp.array([0.3, 0.1, 1.2, 0.5])
    products, slope = lib.make_hvp(negative_likelihood)(point)
    gauss = lib.make_ggnvp(lambda p: np.exp(p) * p)(point)
    return negative_likelihood(point), slope, products(point), gauss(point), lib.hessian(negative_likelihood)(point)


PROGRAMS = [
    logistic_regression,
    neural_net_on_digits,
    gaussian_process,
    differential_equation,
    fluid,
    mixture,
    black_box_inference,
    recurrent_net,
    tanh_curves,
    rosenbrock,
    own_primitive,
    convolutional_net,
    learned_steps,
    quantum_state,
    implicit_layer,
    survival_model,
]
