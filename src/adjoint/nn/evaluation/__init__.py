"""How far probabilities can be trusted: calibration, recalibration, decisions, and sets with a promised coverage."""
