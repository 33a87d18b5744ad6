"""Texts and sequences: alignments, labelings, n-grams, grammars."""

import math
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np

from tests.corpus.programs import Program


def labeling_loss(logits, labels=(1, 2, 2)):
    """Minus the log-probability of a labeling over all its alignments with blanks (label 0)."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    extended = [0]
    for label in labels:
        extended += [label, 0]
    S, T = len(extended), len(log_p)
    alpha = np.full((T, S), -np.inf)
    alpha[0, 0] = log_p[0, 0]
    alpha[0, 1] = log_p[0, extended[1]]

    def log_sum(*terms):
        top = max(terms)
        if top == -np.inf:
            return top
        return top + math.log(sum(math.exp(t - top) for t in terms))

    for t in range(1, T):
        for s in range(S):
            ways = [alpha[t - 1, s]]
            if s >= 1:
                ways.append(alpha[t - 1, s - 1])
            if s >= 2 and extended[s] != 0 and extended[s] != extended[s - 2]:
                ways.append(alpha[t - 1, s - 2])
            alpha[t, s] = log_sum(*ways) + log_p[t, extended[s]]
    return -log_sum(alpha[-1, -1], alpha[-1, -2])


def derivative_warping(first, second, window=3):
    """Cost of warping one sequence on the other by the slopes of both, within a band."""

    def slopes(x):
        return np.array([((x[i] - x[i - 1]) + (x[i + 1] - x[i - 1]) / 2) / 2 for i in range(1, len(x) - 1)])

    d1, d2 = slopes(first), slopes(second)
    n, m = len(d1), len(d2)
    window = max(window, abs(n - m))
    previous = {0: 0.0}
    for i in range(1, n + 1):
        row = {}
        for j in range(max(1, i - window), min(m, i + window) + 1):
            cost = (d1[i - 1] - d2[j - 1]) ** 2
            best = min(previous.get(j - 1, math.inf), previous.get(j, math.inf), row.get(j - 1, math.inf))
            row[j] = cost + best
        previous = row
    return math.sqrt(previous[m])


TEXT = "the cat saw the dog and the dog saw the bird while the cat slept"


def bigram_perplexity(discount, sentence="the bird saw the cat and the dog slept"):
    """Perplexity of a sentence under Kneser and Ney's interpolated bigrams of a short text."""
    words = TEXT.split()
    pairs = Counter(pairwise(words))
    starts = Counter(words[:-1])
    followers, histories = defaultdict(set), defaultdict(set)
    for a, b in pairs:
        followers[a].add(b)
        histories[b].add(a)

    def probability(a, b):
        continuation = (len(histories[b]) + 0.5 * discount) / (len(pairs) + 0.5 * discount * len(starts))
        if a not in starts:
            return continuation
        direct = max(pairs[a, b] - discount, 0.0) / starts[a]
        return direct + discount * len(followers[a]) / starts[a] * continuation

    tokens = sentence.split()
    log_likelihood = sum(math.log(probability(a, b)) for a, b in pairwise(tokens))
    return math.exp(-log_likelihood / (len(tokens) - 1))


def inside_log_probability(rule_weights, sentence="they fish with rods"):
    """Log-probability of a sentence under a weighted grammar, summed over its parses with a memo."""
    rules = [
        ("S", ("N", "V")),
        ("V", ("V", "P")),
        ("N", ("N", "P")),
        ("P", ("W", "N")),
        ("N", "they"),
        ("N", "fish"),
        ("N", "rods"),
        ("V", "fish"),
        ("W", "with"),
        ("N", ("N", "N")),
    ]
    totals = defaultdict(float)
    for (head, _), weight in zip(rules, rule_weights):
        totals[head] += math.exp(weight)
    probability = [math.exp(w) / totals[head] for (head, _), w in zip(rules, rule_weights)]
    tokens = sentence.split()
    memo = {}

    def inside(symbol, i, j):
        key = symbol, i, j
        if key in memo:
            return memo[key]
        total = 0.0
        for (head, body), p in zip(rules, probability):
            if head != symbol:
                continue
            if isinstance(body, str):
                if j == i + 1 and tokens[i] == body:
                    total += p
            else:
                left, right = body
                total += p * sum(inside(left, i, k) * inside(right, k, j) for k in range(i + 1, j))
        memo[key] = total
        return total

    return math.log(inside("S", 0, len(tokens)))


def sentence_similarity(embeddings, smoothing=0.1):
    """Cosine between two sentences, words weighted by how rare they are, less the common direction."""
    vocabulary = {word: i for i, word in enumerate(["sun", "moon", "rises", "sets", "the"])}
    counts = np.array([3.0, 2.0, 2.0, 1.0, 9.0])
    weights = smoothing / (smoothing + counts / counts.sum())

    def vector(sentence):
        ids = [vocabulary[w] for w in sentence.split() if w in vocabulary]
        return np.mean([weights[i] * embeddings[i] for i in ids], axis=0)

    a, b, c = map(vector, ("the sun rises", "the moon sets", "the sun sets"))
    _, _, vt = np.linalg.svd(np.stack([a, b, c]), full_matrices=False)
    common = vt[0]
    a, b = (v - 0.5 * (v @ common) * common for v in (a, b))
    return a @ b / (np.linalg.norm(a) * np.linalg.norm(b))


LOGITS = np.array(
    [[0.1, 1.2, -0.3], [0.6, 0.4, 0.2], [-0.5, 0.1, 0.9], [0.8, -0.2, 0.1], [0.0, -1.0, 1.1], [0.3, 0, 0.2]]
)
FIRST = np.array([0.1, 0.5, 1.4, 1.9, 1.2, 0.3, -0.4, -0.9])
SECOND = np.array([0.0, 0.2, 0.7, 1.6, 1.75, 0.8, -0.1, -0.6, -0.75])
RULES = np.array([0.3, -0.2, 0.1, 0.4, 0.5, -0.3, 0.2, 0.6, 0.0, -0.5])
EMBEDDINGS = np.array([[1.0, 0.2, -0.3], [0.8, -0.5, 0.1], [0.1, 0.9, 0.4], [-0.2, 0.7, 0.8], [0.3, 0.3, 0.2]])

PROGRAMS = [
    Program(labeling_loss, (LOGITS,)),
    Program(derivative_warping, (FIRST, SECOND)),
    Program(bigram_perplexity, (0.63,)),
    Program(inside_log_probability, (RULES,)),
    Program(sentence_similarity, (EMBEDDINGS,)),
]
