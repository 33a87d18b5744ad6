"""Methods that use curvature: from Hessians, from products with them, or built up from gradients."""
