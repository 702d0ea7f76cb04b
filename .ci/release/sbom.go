package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
	"github.com/spdx/tools-golang/spdxlib"
)

// dependency is a module that is linked into a program, or Go's standard library.
type dependency struct{ path, version string }

// purl returns the name of a module that scanners look up.
func (d dependency) purl() string {
	return "pkg:golang/" + d.path + "@" + strings.ReplaceAll(d.version, "+", "%2B")
}

// sboms writes the bill of materials of every program in both formats, from what the linker wrote into the program for linux/amd64. Other
// platforms may link fewer modules.
func (r *release) sboms(work string) error {
	for _, p := range append(slices.Clone(images), pluginProgram) {
		info, err := buildinfo.ReadFile(filepath.Join(work, p.name+"-linux-amd64"))
		if err != nil {
			return fmt.Errorf("reading what %s is made of: %w", p.name, err)
		}
		dependencies := r.dependencies(info)
		for ending, encode := range map[string]func(program, []dependency) ([]byte, error){".cdx.json": r.cycloneDX, ".spdx.json": r.spdx} {
			text, err := encode(p, dependencies)
			if err != nil {
				return fmt.Errorf("writing what %s is made of: %w", p.name, err)
			}
			if err := write(filepath.Join(r.out, "sbom", p.name+ending), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// dependencies returns the modules of a program by name, and the standard library. A module of the repository has the version of the release.
func (r *release) dependencies(info *debug.BuildInfo) []dependency {
	all := []dependency{{"stdlib", strings.TrimPrefix(info.GoVersion, "go")}}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = &debug.Module{Path: cmp.Or(strings.TrimLeft(module.Replace.Path, "./"), module.Path), Version: cmp.Or(module.Replace.Version, r.version)}
		}
		all = append(all, dependency{module.Path, module.Version})
	}
	slices.SortFunc(all, func(a, b dependency) int { return strings.Compare(a.path, b.path) })
	return all
}

// id is a UUID that the same release of a program always has.
func (r *release) id(p program) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(source+"/"+p.name+"/"+r.version+"/"+r.revision))
}

func (r *release) cycloneDX(p program, dependencies []dependency) ([]byte, error) {
	self := dependency{strings.TrimPrefix(source, "https://") + "/" + p.name, r.version}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = r.id(p).URN()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: r.created.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: self.purl(), Type: cyclonedx.ComponentTypeApplication, Name: p.name, Version: r.version, PackageURL: self.purl(),
			Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		},
	}
	var components []cyclonedx.Component
	var refs []string
	for _, d := range dependencies {
		components = append(components, cyclonedx.Component{
			BOMRef: d.purl(), Type: cyclonedx.ComponentTypeLibrary, Name: d.path, Version: d.version, PackageURL: d.purl(), Scope: cyclonedx.ScopeRequired,
		})
		refs = append(refs, d.purl())
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: self.purl(), Dependencies: &refs}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom)
	return out.Bytes(), err
}

func (r *release) spdx(p program, dependencies []dependency) ([]byte, error) {
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: p.name + " " + r.version,
		DocumentNamespace: fmt.Sprintf("%s/spdx/%s-%s-%s", source, p.name, r.version, r.id(p)),
		CreationInfo: &spdx.CreationInfo{
			Created: r.created.Format(time.RFC3339), Creators: []common.Creator{{CreatorType: "Tool", Creator: "trainingjob-release"}},
		},
	}
	self := spdxPackage("program", dependency{p.name, r.version}, "Apache-2.0")
	doc.Packages = append(doc.Packages, self)
	describes := &spdx.Relationship{RefA: common.MakeDocElementID("", "DOCUMENT"), RefB: common.MakeDocElementID("", "program"), Relationship: "DESCRIBES"}
	doc.Relationships = append(doc.Relationships, describes)
	for i, d := range dependencies {
		id := fmt.Sprintf("module-%d", i)
		one := spdxPackage(id, d, "NOASSERTION")
		one.PackageExternalReferences = []*spdx.PackageExternalReference{{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: d.purl()}}
		doc.Packages = append(doc.Packages, one)
		doc.Relationships = append(doc.Relationships, &spdx.Relationship{
			RefA: common.MakeDocElementID("", "program"), RefB: common.MakeDocElementID("", id), Relationship: "DEPENDS_ON",
		})
	}
	if err := spdxlib.ValidateDocument(doc); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err := spdxjson.Write(doc, &out, spdxjson.Indent("  "), spdxjson.EscapeHTML(false))
	return out.Bytes(), err
}

func spdxPackage(id string, d dependency, license string) *spdx.Package {
	return &spdx.Package{
		PackageName: d.path, PackageSPDXIdentifier: common.ElementID(id), PackageVersion: d.version, PackageDownloadLocation: "NOASSERTION",
		PackageLicenseConcluded: "NOASSERTION", PackageLicenseDeclared: license, PackageCopyrightText: "NOASSERTION",
	}
}
