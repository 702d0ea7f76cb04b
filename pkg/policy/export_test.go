package policy

// What the tests of one step call, where a verdict would show it only among others.
var Fit = fit
