"""Objects with state: simulators, accumulators, accounts, buffers, small algebras."""

import math
from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np

from tests.corpus.programs import Program


class Vector:
    """A small vector class in the plane."""

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    __rmul__ = __mul__

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __abs__(self):
        return math.sqrt(self.x**2 + self.y**2)

    def __iter__(self):
        yield self.x
        yield self.y

    def dot(self, other):
        return self.x * other.x + self.y * other.y


def swinging_ball(position, stiffness):
    """A ball on a spring, with its place and velocity as Vectors."""
    place = Vector(position[0], position[1])
    velocity = Vector(0.0, 0.5)
    gravity = Vector(0.0, -1.0)
    dt = 0.05
    for _ in range(40):
        stretch = abs(place) - 1.0
        force = -stiffness * stretch * (place * (1 / abs(place))) + gravity - 0.1 * velocity
        velocity = velocity + dt * force
        place = place + dt * velocity
    return np.array(list(place))


class RunningStatistics:
    """Mean and variance of a stream, after Welford."""

    def __init__(self):
        self.count = 0
        self._mean = 0.0
        self._m2 = 0.0

    def push(self, x):
        self.count += 1
        delta = x - self._mean
        self._mean += delta / self.count
        self._m2 += delta * (x - self._mean)

    @property
    def mean(self):
        return self._mean

    @property
    def variance(self):
        return self._m2 / (self.count - 1) if self.count > 1 else 0.0


def coefficient_of_variation(values):
    statistics = RunningStatistics()
    for v in values:
        statistics.push(v)
    return math.sqrt(statistics.variance) / statistics.mean


@dataclass
class Warehouse:
    """Stock of one item that is ordered again when it is low."""

    level: float
    reorder_point: float
    order_size: float = 30.0
    on_order: list = field(default_factory=list)
    cost: float = 0.0

    def day(self, demand):
        arrived = [size for due, size in self.on_order if due == 0]
        self.on_order = [(due - 1, size) for due, size in self.on_order if due > 0]
        self.level += sum(arrived)
        sold = min(self.level, demand)
        self.level -= sold
        self.cost += 0.1 * self.level + 2.0 * (demand - sold)
        if self.level < self.reorder_point and not self.on_order:
            self.on_order.append((2, self.order_size))
            self.cost += 5.0


def inventory_cost(demands, order_size):
    store = Warehouse(level=25.0, reorder_point=14.0, order_size=order_size)
    for demand in demands:
        store.day(demand)
    return store.cost


class Account:
    """A bank account."""

    rate = 0.01

    def __init__(self, balance):
        self.balance = balance
        self.log = defaultdict(float)

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("deposits are positive")
        self.balance += amount
        self.log["deposit"] += amount

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError("not enough money")
        self.balance -= amount
        self.log["withdrawal"] += amount

    def end_of_month(self):
        self.balance *= 1 + self.rate


class SavingsAccount(Account):
    """An account with a bonus for what is above a threshold, and a fee when a withdrawal is refused."""

    def __init__(self, balance, bonus):
        super().__init__(balance)
        self.bonus = bonus
        self.refused = 0

    def withdraw(self, amount):
        try:
            super().withdraw(amount)
        except ValueError:
            self.refused += 1
            self.balance -= 1.5

    def end_of_month(self):
        super().end_of_month()
        if self.balance > 100:
            self.balance += self.bonus * (self.balance - 100)


def final_balance(opening, transfers, bonus):
    account = SavingsAccount(opening, bonus)
    for amount in transfers:
        if amount > 0:
            account.deposit(amount)
        else:
            account.withdraw(-amount)
        account.end_of_month()
    return account.balance - 0.02 * account.log["withdrawal"]


class RingBuffer:
    """The last few values, in an array that is written around."""

    def __init__(self, size):
        self.data = np.zeros(size)
        self.position = 0
        self.filled = 0

    def append(self, value):
        self.data[self.position] = value
        self.position = (self.position + 1) % len(self.data)
        self.filled = min(self.filled + 1, len(self.data))

    def __len__(self):
        return self.filled

    def __getitem__(self, back):
        return self.data[(self.position - 1 - back) % len(self.data)]

    def mean(self):
        return self.data[: len(self)].mean()


def delayed_echo(signal, feedback):
    """An echo with a smoothed tail."""
    buffer = RingBuffer(4)
    out = []
    for s in signal:
        delayed = buffer[3] if len(buffer) == 4 else 0.0
        y = s + feedback * delayed
        if len(buffer):
            y += 0.1 * buffer.mean()
        buffer.append(y)
        out.append(y)
    return np.array(out)


class Biquad:
    """A filter of second order that is called sample by sample."""

    def __init__(self, frequency, quality):
        w = 2 * math.pi * frequency
        alpha = math.sin(w) / (2 * quality)
        a0 = 1 + alpha
        b = (1 - math.cos(w)) / 2
        self.b = [b / a0, 2 * b / a0, b / a0]
        self.a = [-2 * math.cos(w) / a0, (1 - alpha) / a0]
        self.inputs = deque([0.0, 0.0], maxlen=2)
        self.outputs = deque([0.0, 0.0], maxlen=2)

    def __call__(self, x):
        y = self.b[0] * x
        y += sum(b * past for b, past in zip(self.b[1:], self.inputs))
        y -= sum(a * past for a, past in zip(self.a, self.outputs))
        self.inputs.appendleft(x)
        self.outputs.appendleft(y)
        return y


def filtered_power(frequency, quality):
    """Power of a square wave behind a low-pass filter."""
    lowpass = Biquad(frequency, quality)
    wave = [1.0 if (k // 8) % 2 == 0 else -1.0 for k in range(64)]
    return sum(lowpass(x) ** 2 for x in wave) / len(wave)


class Polynomial:
    """Polynomials with the lowest coefficient first."""

    def __init__(self, coefficients):
        self.c = list(coefficients)

    def __add__(self, other):
        n = max(len(self.c), len(other.c))
        pad = lambda c: c + [0.0] * (n - len(c))
        return Polynomial([a + b for a, b in zip(pad(self.c), pad(other.c))])

    def __mul__(self, other):
        if not isinstance(other, Polynomial):
            return Polynomial([other * a for a in self.c])
        result = np.zeros(len(self.c) + len(other.c) - 1)
        for i, a in enumerate(self.c):
            for j, b in enumerate(other.c):
                result[i + j] += a * b
        return Polynomial(result)

    def __pow__(self, n):
        return Polynomial([1.0]) if n == 0 else self * self ** (n - 1)

    def __call__(self, x):
        value = 0.0
        for a in reversed(self.c):
            value = value * x + a
        return value

    def derivative(self):
        return Polynomial([k * a for k, a in enumerate(self.c)][1:])


def polynomial_slope(coefficients, x):
    """Slope of p cubed plus twice p prime, by polynomial algebra."""
    p = Polynomial(coefficients)
    q = p**3 + p.derivative() * 2.0
    return q.derivative()(x)


class Shape:
    """What has an area and a moment of inertia about its centroid."""

    density = 1.0

    @property
    def area(self):
        raise NotImplementedError

    def moment(self):
        raise NotImplementedError

    def moment_about(self, distance):
        return self.density * (self.moment() + self.area * distance**2)


class Rectangle(Shape):
    def __init__(self, width, height):
        self.width, self.height = width, height

    @property
    def area(self):
        return self.width * self.height

    def moment(self):
        return self.width * self.height**3 / 12


class Disk(Shape):
    density = 1.7

    def __init__(self, radius):
        self.radius = radius

    @property
    def area(self):
        return math.pi * self.radius**2

    def moment(self):
        return math.pi * self.radius**4 / 4


def section_stiffness(flange, web, radius):
    """Second moment of a composed section about its centroid."""
    parts = [(Rectangle(flange, 0.2), 1.1), (Rectangle(0.15, web), 0.5), (Disk(radius), -0.1)]
    weight = sum(shape.density * shape.area for shape, _ in parts)
    center = sum(shape.density * shape.area * height for shape, height in parts) / weight
    return sum(shape.moment_about(height - center) for shape, height in parts)


class Thermostat:
    """A room with two nodes and a proportional heater; the history is kept."""

    def __init__(self, target, insulation):
        self.target = target
        self.insulation = insulation
        self.air, self.wall = 15.0, 12.0
        self.history = []
        self.__energy = 0.0

    @property
    def energy(self):
        return self.__energy

    def step(self, outside, dt=0.1):
        power = np.clip(1.5 * (self.target - self.air), 0.0, 6.0)
        flow = 0.8 * (self.air - self.wall)
        self.air += dt * (power - flow)
        self.wall += dt * 0.3 * (flow - (self.wall - outside) / self.insulation)
        self.__energy += power * dt
        self.history.append(self.air)

    def simulate(self, weather):
        for outside in weather:
            self.step(outside)
        return self


def heating_bill(target, insulation):
    """Energy for a day, with a penalty for cold air."""
    weather = (5.0 + 3.0 * math.sin(0.1 * k) for k in range(120))
    room = Thermostat(target, insulation).simulate(weather)
    cold = [max(0.0, 18.0 - t) for t in room.history]
    return room.energy + 0.05 * sum(c**2 for c in cold)


PROGRAMS = [
    Program(swinging_ball, (np.array([1.1, 0.2]), 6.0)),
    Program(coefficient_of_variation, (np.array([2.1, 3.4, 1.9, 2.8, 4.0, 2.5]),)),
    Program(inventory_cost, (np.array([8.0, 5.5, 7.2, 6.1, 9.3, 4.4, 8.8, 7.7, 6.3, 10.1]), 28.0)),
    Program(final_balance, (80.0, np.array([30.0, -12.0, 25.0, -200.0, 18.0, -40.0]), 0.004)),
    Program(delayed_echo, (np.array([1.0, 0.2, -0.4, 0.7, 0.0, -0.1, 0.3, 0.5, -0.6]), 0.55)),
    Program(filtered_power, (0.11, 0.9)),
    Program(polynomial_slope, (np.array([0.5, -1.0, 0.3, 0.2]), 1.4)),
    Program(section_stiffness, (0.8, 1.0, 0.3)),
    Program(heating_bill, (20.5, 2.2)),
]
