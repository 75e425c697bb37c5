import { describe, expect, test } from "vitest";
import { readAssetRows } from "../../../../src/edgectl/documents/asset-rows.ts";
import { Failure } from "../../../../src/edgectl/failure.ts";

/** What is said to be wrong with a file. */
function problemsOf(text: string, fileName = "assets.csv"): unknown {
  try {
    readAssetRows(text, fileName);
  } catch (error) {
    if (error instanceof Failure) return error.details?.["problems"] ?? error.message;
    throw error;
  }
  return [];
}

const KIOSK = {
  registration: {
    serial_number: "GW-0001",
    name: "Kiosk 1, north",
    type: "",
    supersim: { sid: "HS01", iccid: "8988307000001234567", network_group: "default_1gb" },
  },
  tags: { role: "kiosk", region: "north" },
};
const BARE = { registration: { serial_number: "GW-0002", type: "" }, tags: {} };

describe("the assets of a file", () => {
  test("of CSV: quoted cells, empty cells, nested fields, tags", () => {
    const text = [
      "serial_number,name,tags,supersim.sid,supersim.iccid,supersim.network_group",
      'GW-0001,"Kiosk 1, north",role=kiosk  region=north,HS01,8988307000001234567,default_1gb',
      "GW-0002,,,,,",
      ",,,,,",
      "",
    ].join("\r\n");
    expect(readAssetRows(text, "assets.csv")).toEqual([KIOSK, BARE]);
    // As spreadsheets write it elsewhere, with a mark of its encoding, and under a name that says nothing.
    const other = `\uFEFF${text.replace('"Kiosk 1, north"', "Kiosk 1, north").replaceAll(/,(?! )/g, ";")}`;
    expect(readAssetRows(other, "standard input")).toEqual([KIOSK, BARE]);
  });

  test("of JSON and YAML: a list, or `assets` of an object", () => {
    const rows = [{ ...KIOSK.registration, tags: KIOSK.tags }, { serial_number: "GW-0002" }];
    for (const document of [rows, { assets: rows }])
      expect(readAssetRows(JSON.stringify(document), "assets.json")).toEqual([KIOSK, BARE]);
    expect(readAssetRows("- serial_number: GW-0002\n", "assets.yaml")).toEqual([BARE]);
    expect(readAssetRows("- serial_number: GW-0002\n", "standard input")).toEqual([BARE]);
  });
});

describe("what is wrong with a file is said by line", () => {
  test.each<[string, string]>([
    ["serial_number,nmae\nGW-1,x", 'assets.csv:1:2: "nmae" is no column. Did you mean name?'],
    ["serial_number,colour\nGW-1,x", 'assets.csv:1:2: "colour" is no column. Columns are serial_number, name,'],
    ["name\nx", "assets.csv:1:1: There is no column serial_number."],
    ["serial_number,serial_number\nGW-1,x", "assets.csv:1:2: The column serial_number is there twice."],
    [`serial_number${",".repeat(20)}\nGW-1`, "assets.csv:1:1: There are 21 columns."],
    ["serial_number\nGW-1,x", "assets.csv:2:2: The row has more cells than the header, which has 1."],
    ["serial_number\nGW-1\nGW 2", "assets.csv:3:1: `serial_number` must be 1 to 64"],
    ["serial_number,tags\nGW-1,kiosk", 'assets.csv:2:2: "kiosk" is no tag. Write KEY=VALUE'],
    ["serial_number,tags\nGW-1,a=1 a=2", "assets.csv:2:2: The tag a is given twice."],
    ["serial_number,tags\nGW-1,type=x", "assets.csv:2:2: `tags.type` is reserved"],
    ["serial_number,supersim.sid\nGW-1,HS1", "assets.csv:2:1: `supersim.iccid` is required"],
    ['serial_number\n"GW-1', "assets.csv:2:1: Quote Not Closed"],
  ])("of CSV: %j", (text, problem) => {
    expect(problemsOf(text)).toEqual(expect.arrayContaining([expect.stringContaining(problem)]));
  });

  test.each<[string, string]>([
    ['{"assets": [{"serial_number": "GW-1"}], "accept": true}', "a.json:1:41: `accept` is not known here"],
    ['[{"serial_number": 8988307000001234567}]', "a.json:1:3: `serial_number` must be a string"],
    ['[{"serial_number": "GW-1", "fleet": "x"}]', "`fleet`"],
    ['["GW-1"]', "a.json:1:2: is no asset."],
    ["{}", "a.json:1:1: must be a list of assets."],
  ])("of JSON: %j", (text, problem) => {
    expect(problemsOf(text, "a.json")).toEqual(expect.arrayContaining([expect.stringContaining(problem)]));
  });

  test("a file without assets, or with too much, is none", () => {
    expect(problemsOf("serial_number\n")).toBe("assets.csv has no assets.");
    expect(problemsOf(`serial_number\n${"a\n".repeat(10_001)}`)).toBe("assets.csv has more than 10000 assets.");
    expect(problemsOf(" ".repeat(1024 * 1024 + 1))).toBe("assets.csv is larger than 1 MiB.");
  });
});

test("what a file under another name is, is told in one pass over its header", () => {
  // With a colon at its end, the header is none of CSV.
  const text = `${"serial_number ".repeat(74_000)}:`;
  expect(text.length).toBeGreaterThan(1_000_000);
  expect(problemsOf(text, "standard input")).not.toEqual([]);
});
