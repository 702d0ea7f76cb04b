// Package image makes a container image from a folder with a Dockerfile, without a container engine and
// without an image registry: the base image is made from Debian's packages, so that the same Dockerfile
// serves users with Docker and the nodes of a lab.
//
//	recipe   parse the Dockerfile; refuse what cannot be done here
//	key      hash each step: the one before it, its text, the files that it copies
//	step     if no layer has that key: stack the former layers (overlayfs), run the command in a chroot
//	archive  write the layers and the configuration as a tar, as docker save does
//
// Mounts exist in a mount namespace of one thread only, so they are gone when the step ends, in whatever way.
// Layers are kept in the cache folder under their keys; a layer appears there whole (rename) or not at all.
package image
