package policy

// Functions whose own tests are clearer than tests of a whole verdict.
var Fit = fit
