"""Networks as estimators of scikit-learn."""
