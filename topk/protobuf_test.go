package topk

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// message is the Summary message of FORMAT.md.
func message(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	field := func(number int32, kind descriptorpb.FieldDescriptorProto_Type, repeated bool) *descriptorpb.FieldDescriptorProto {
		label := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
		if repeated {
			label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
		}
		return &descriptorpb.FieldDescriptorProto{Name: proto.String(names[number]), Number: proto.Int32(number), Type: kind.Enum(), Label: label.Enum()}
	}
	const (
		number = descriptorpb.FieldDescriptorProto_TYPE_UINT64
		fixed  = descriptorpb.FieldDescriptorProto_TYPE_FIXED64
		text   = descriptorpb.FieldDescriptorProto_TYPE_BYTES
	)
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("summary.proto"), Syntax: proto.String("proto3"), Package: proto.String("otel_topk.v1"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Summary"), Field: []*descriptorpb.FieldDescriptorProto{
			field(fieldVersion, number, false), field(fieldSeed, fixed, false), field(fieldWidth, number, false),
			field(fieldDepth, number, false), field(fieldCapacity, number, false), field(fieldRecords, number, false),
			field(fieldTotal, number, false), field(fieldHidden, number, false), field(fieldTheta, number, false),
			field(fieldKeys, text, true), field(fieldLowers, number, true), field(fieldBases, number, true),
			field(fieldPinned, number, true), field(fieldCells, number, true), field(fieldRegisters, text, false),
			field(fieldCheck, fixed, false),
		}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Messages().Get(0)
}

// What any protobuf library reads and writes again is the same bytes.
func TestEncodingIsAProtobufMessage(t *testing.T) {
	descriptor := message(t)
	for name, s := range samples(t) {
		want := []byte(encode(t, s))
		m := dynamicpb.NewMessage(descriptor)
		if err := proto.Unmarshal(want, m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n%x, want\n%x", name, err, got, want)
		}
		if len(m.ProtoReflect().GetUnknown()) > 0 {
			t.Errorf("%s: fields that FORMAT.md does not have", name)
		}
	}
}
