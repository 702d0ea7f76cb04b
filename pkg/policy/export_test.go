package policy

// Functions whose tests are clearer than those of a whole verdict.
var Fit = fit
