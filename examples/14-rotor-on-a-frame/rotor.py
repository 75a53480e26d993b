"""Writes the matrices of the rotor: a steel shaft of eight elements with a disc in its middle.

Each node has four DOFs: x, slope of x, y, slope of y. The disc turns at SPEED: gyroscopic moments
couple its slopes. A seal around it adds damping, and a stiffness across that is not symmetric.
"""

import numpy as np

ELEMENTS, LENGTH, DIAMETER = 8, 0.8, 0.040
YOUNG, DENSITY = 210e9, 7850.0
DISC_MASS, DISC_DIAMETRAL, DISC_POLAR = 30.0, 0.25, 0.48
JOURNAL_MASS = 4.0  # at both ends, with their couplings
SPEED = 150.0
SEAL_DAMPING, SEAL_ACROSS = 250.0, 20e3

NODES = ELEMENTS + 1
h = LENGTH / ELEMENTS
area = np.pi * DIAMETER**2 / 4
bending = YOUNG * np.pi * DIAMETER**4 / 64
k = bending / h**3 * np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
                               [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]])
m = DENSITY * area * h / 420 * np.array([[156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h],
                                         [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h * h, -22 * h, 4 * h * h]])
mass, damping, stiffness = (np.zeros((4 * NODES, 4 * NODES)) for _ in range(3))
for element in range(ELEMENTS):
    for plane in range(2):
        dofs = [4 * (element + node) + 2 * plane + i for node in range(2) for i in range(2)]
        mass[np.ix_(dofs, dofs)] += m
        stiffness[np.ix_(dofs, dofs)] += k
damping += 2e-6 * stiffness  # of the material
x, turn_x, y, turn_y = (4 * (ELEMENTS // 2) + i for i in range(4))
for dof, inertia in [(x, DISC_MASS), (y, DISC_MASS), (turn_x, DISC_DIAMETRAL), (turn_y, DISC_DIAMETRAL)]:
    mass[dof, dof] += inertia
for dof in (0, 2, 4 * ELEMENTS, 4 * ELEMENTS + 2):
    mass[dof, dof] += JOURNAL_MASS
damping[turn_x, turn_y] += SPEED * DISC_POLAR
damping[turn_y, turn_x] -= SPEED * DISC_POLAR
damping[x, x] += SEAL_DAMPING
damping[y, y] += SEAL_DAMPING
stiffness[x, y] += SEAL_ACROSS
stiffness[y, x] -= SEAL_ACROSS

for name, matrix in [("rotor_m", mass), ("rotor_c", damping), ("rotor_k", stiffness)]:
    entries = [(i, j) for j in range(matrix.shape[1]) for i in range(matrix.shape[0]) if matrix[i, j]]
    with open(f"{name}.mtx", "w") as file:
        print("%%MatrixMarket matrix coordinate real general", file=file)
        print(*matrix.shape, len(entries), file=file)
        for i, j in entries:
            print(i + 1, j + 1, repr(float(matrix[i, j])), file=file)
