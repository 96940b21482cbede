// Command protogen writes the Go messages of one .proto file beside it. It is protoc and protoc-gen-go in one program, so
// that `go generate` needs nothing but Go. Its module holds protobuf at v1.36.3, the last whose output is safe Go.
//
//	protogen <root> <file below root>
//
// The file's path below root is the name it is registered under, so it should be one that no other project has.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: protogen <root> <file below root>")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// generate compiles the file called name below root and writes its Go code beside it. The file imports no other.
func generate(root, name string) error {
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{root}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), name)
	if err != nil {
		return err
	}
	parameter := "paths=source_relative"
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name},
		Parameter:      &parameter,
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])},
	})
	if err != nil {
		return err
	}
	for _, f := range plugin.Files {
		internal_gengo.GenerateFile(plugin, f)
	}
	response := plugin.Response()
	if response.Error != nil {
		return fmt.Errorf("%s: %s", name, response.GetError())
	}
	for _, f := range response.File {
		if err := os.WriteFile(filepath.Join(root, f.GetName()), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
