/** A JSON value that is dear for its bytes, in one way. */
export interface DearValue {
  readonly name: string;
  /** Dear at most places. The others are tried at one place of a document only. */
  readonly isDearest?: boolean;
  /** Fills the bytes with it as far as it has no more than `maxValues`. Returns the number of bytes. */
  readonly write: (into: Buffer, maxValues: number) => number;
}

const NESTING = 50;
const LONG_NAME = 4_000;

/** One element after the other, each of so many values. A function writes elements that differ. */
function repeated(
  [open, close]: readonly [string, string],
  element: string | ((index: number) => string),
  valuesOfEach: number,
): DearValue["write"] {
  return (into, maxValues) => {
    const of = typeof element === "string" ? () => `${element},` : (index: number) => `${element(index)},`;
    const maxElements = Math.floor(maxValues / valuesOfEach);
    let end = into.write(open);
    for (let index = 0; index < maxElements; index++) {
      const text = of(index);
      if (end + text.length > into.length) break;
      end += into.write(text, end, "latin1");
    }
    // In the place of the last comma.
    into.write(close, Math.max(end - 1, open.length));
    return Math.max(end, open.length + close.length);
  };
}

const LIST = ["[", "]"] as const;
const OBJECT = ["{", "}"] as const;

/** One value that is as long as there are bytes. */
function long(open: string, unit: string, close: string): DearValue["write"] {
  return (into) => {
    const start = into.write(open);
    const size = Buffer.byteLength(unit);
    const end = start + Math.floor((into.length - start - close.length) / size) * size;
    into.fill(unit, start, end);
    return end + into.write(close, end);
  };
}

export const DEAR_VALUES: readonly DearValue[] = [
  { name: "numbers", write: repeated(LIST, "1", 1) },
  { name: "fractions", write: repeated(LIST, "1.5", 1) },
  { name: "empty texts", write: repeated(LIST, '""', 1) },
  { name: "empty lists", write: repeated(LIST, "[]", 2) },
  { name: "empty objects", isDearest: true, write: repeated(LIST, "{}", 2) },
  { name: "objects of one field", write: repeated(LIST, '{"a":1}', 3) },
  { name: "objects of a field of their own", isDearest: true, write: repeated(LIST, (index) => `{"k${index}":1}`, 3) },
  { name: "nested lists", write: repeated(LIST, "[".repeat(NESTING) + "]".repeat(NESTING), NESTING + 1) },
  {
    name: "nested objects",
    isDearest: true,
    write: repeated(LIST, '{"a":'.repeat(NESTING) + "1" + "}".repeat(NESTING), NESTING * 2 + 1),
  },
  { name: "many fields", isDearest: true, write: repeated(OBJECT, (index) => `"k${index}":1`, 2) },
  { name: "fields of lists", write: repeated(OBJECT, (index) => `"k${index}":[]`, 3) },
  { name: "fields with numbers for names", write: repeated(OBJECT, (index) => `"${index * 89}":1`, 2) },
  { name: "one field again and again", write: repeated(OBJECT, (index) => `"a":${index % 2 ? "1" : "{}"}`, 3) },
  {
    name: "long names",
    isDearest: true,
    write: repeated(OBJECT, (index) => `"${"n".repeat(LONG_NAME)}${index}":1`, 2),
  },
  { name: "escapes", write: long('["', String.raw`\u0041`, '"]') },
  { name: "escaped quotation marks", write: long('["', String.raw`\"`, '"]') },
  { name: "a text of two bytes a character", write: long('["', "€", '"]') },
  { name: "a long number", write: long("[", "9", "]") },
  { name: "spaces", write: long("[", " ", "]") },
];
