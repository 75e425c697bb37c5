import { describe, expect, test } from "vitest";
import { instructionsOf } from "../../../../src/edgectl/images/explain-update.ts";

function instructions(history: { created_by?: string; empty_layer?: boolean }[], layers: number) {
  const diffIds = Array.from({ length: layers }, (_, index) => `sha256:${index}`);
  return instructionsOf({ os: "linux", architecture: "amd64", rootfs: { diff_ids: diffIds }, history });
}

describe("the instructions of an image's layers", () => {
  test.each([
    ["RUN /bin/sh -c npm ci # buildkit", "RUN npm ci"],
    ["RUN |1 NODE_ENV=production /bin/sh -c npm ci # buildkit", "RUN npm ci"],
    ["/bin/sh -c apt-get  update", "RUN apt-get update"],
    ["COPY . . # buildkit", "COPY . ."],
    [`/bin/sh -c #(nop) COPY dir:${"0123456789ab".padEnd(64, "c")} in /app `, "COPY 0123456789ab… /app"],
  ])("%s", (createdBy, instruction) => {
    expect(instructions([{ created_by: createdBy }], 1)).toEqual([instruction]);
  });

  test("go with the layers, without the entries that made none", () => {
    const history = [
      { created_by: "ADD a /" },
      { created_by: "ENV A=1", empty_layer: true },
      {},
      { created_by: "COPY b /" },
    ];
    expect(instructions(history, 3)).toEqual(["ADD a /", undefined, "COPY b /"]);
  });

  test("are unknown where the history does not fit the layers", () => {
    expect(instructions([{ created_by: "ADD a /" }], 2)).toEqual([undefined, undefined]);
    expect(instructions([], 1)).toEqual([undefined]);
  });
});
