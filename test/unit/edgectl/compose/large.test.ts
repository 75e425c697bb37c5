import { describe, expect, test } from "vitest";
import { convertWeb } from "../../../support/edgectl/compose.ts";

const HALF = 8 * 1024 * 1024;
const FILES = { "d/0": "x".repeat(HALF + 1), "d/1": "x".repeat(HALF + 1), f: "x".repeat(2 * HALF + 1) };

describe("what no request takes", () => {
  test("is an upload: a directory, and a file", () => {
    const size = expect.any(Number) as number;
    expect(convertWeb("volumes: ['./d:/d:ro']", "", { files: FILES })).toMatchObject({
      problems: [],
      apps: { web: { files: [{ target: "/d", directory: true, upload: { size } }] } },
    });
    expect(convertWeb("volumes: ['./f:/f:ro']", "", { files: FILES, modes: { f: 0o755 } })).toMatchObject({
      problems: [],
      apps: { web: { files: [{ target: "/f", mode: "0555", upload: { size: FILES.f.length } }] } },
    });
  });

  test("cannot come file by file, and is neither a secret nor for one user alone", () => {
    const apart = convertWeb("volumes: ['./d:/d:ro', 'data:/d/data']", "volumes: {data: }", { files: FILES });
    expect(apart.problems.join()).toContain(
      "inside of /d, whose files then come one by one: they have more than 16 MiB",
    );
    for (const name of ["f", "d/0"]) {
      const source = name.replace("/0", "");
      const own = convertWeb(`volumes: ['./${source}:/x:ro']`, "", { files: FILES, modes: { [name]: 0o600 } });
      expect(own.problems.join(), name).toContain("more than 16 MiB");
      expect(own.problems.join(), name).toContain("others may not read");
    }
    const secret = convertWeb("secrets: [s]", "secrets: {s: {file: ./f}}", { files: FILES });
    expect(secret.problems.join()).toContain("16385 KiB: at most 16 MiB");
  });
});
