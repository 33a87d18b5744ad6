"""The computation graph as a picture: layers, crossings, coordinates, labels."""
