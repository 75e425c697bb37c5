import fc from "fast-check";
import { expect, test } from "vitest";
import { findWrongName } from "../../../src/protocol/values/field-names.ts";

const RESERVED: ReadonlySet<string> = new Set(["__proto__", "constructor"]);

test.each([
  ['{"a":1,"a":1}', ["a"], "repeated"],
  ['{"a":{"b":[0,{"c":1,"d":"c","c":{}}]}}', ["a", "b", 1, "c"], "repeated"],
  ['[[],["x",{"a" :1,\n"\\u0061"\t:2}]]', [1, 1, "a"], "repeated"],
  ['{"":1,"":2}', [""], "repeated"],
  ['{"a":{"__proto__":1}}', ["a", "__proto__"], "reserved"],
  ['{"\\u005f_proto__":1}', ["__proto__"], "reserved"],
  ['{"a":["constructor",{"constructor":{"prototype":{}}}]}', ["a", 1, "constructor"], "reserved"],
])("%s", (json, path, reason) => {
  expect(findWrongName(json)).toEqual({ path, reason });
});

test.each([
  '{"a":"a","b":["a","a",{"a":1}],"c":{"a":1}}',
  '["__proto__","constructor","a","a"]',
  '{"a":"\\",\\"a\\":1","b":"\\\\"}',
  "7",
  '"a"',
])("%s is fine", (json) => {
  expect(findWrongName(json)).toBeUndefined();
});

test("any document is fine as it is written, and not once one of its objects has a name twice", () => {
  const name = fc.string().filter((text) => !RESERVED.has(text));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "small" }, fc.string(), fc.integer(), fc.array(tie("value")), tie("object")),
    object: fc.dictionary(name, tie("value")),
  }));
  fc.assert(
    fc.property(value, name, fc.boolean(), (document, field, indented) => {
      const json = JSON.stringify(document, undefined, indented ? 2 : 0);
      expect(findWrongName(json)).toBeUndefined();
      const quoted = JSON.stringify(field);
      const twice = { path: [0, field], reason: "repeated" };
      expect(findWrongName(`[{${quoted}:${json},${quoted}:${json}}]`)).toEqual(twice);
    }),
  );
});
