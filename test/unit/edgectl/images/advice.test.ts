import { describe, expect, test } from "vitest";
import { adviceFor, type LayerCost } from "../../../../src/edgectl/images/explain-update.ts";

function layer(changes: Partial<LayerCost> = {}): LayerCost {
  return {
    digest: "sha256:0",
    instruction: "COPY . .",
    by: "parts",
    source: "index",
    whole_bytes: 1_000_000,
    parts_bytes: 50_000,
    table_bytes: 10_000,
    files: 10,
    files_here: 5,
    fetched: [],
    ...changes,
  };
}

const file = (path: string, bytes: number) => ({ path, size_bytes: bytes * 3, parts_bytes: bytes });

describe("advice on an update", () => {
  test("is not given where nothing can be saved", () => {
    expect(adviceFor([], [])).toEqual([]);
    expect(adviceFor([layer({ by: "here" })], [])).toEqual([]);
    expect(adviceFor([layer({ fetched: [file("app/main.js", 400_000)] })], ["COPY . ."])).toEqual([]);
  });

  test.each([
    ["root/.npm/_cacache/x", "caches of package managers"],
    ["app/node_modules/.cache/babel/x.json", "caches of package managers"],
    ["var/lib/apt/lists/deb_x", "apt's lists"],
    ["app/lib/__pycache__/x.pyc", "compiled Python files"],
    ["app/.git/objects/00/1", "history"],
    ["tmp/x", "temporary files"],
  ])("names what a build leaves behind: %s", (path, what) => {
    expect(adviceFor([layer({ fetched: [file(path, 30_000)] })], [])).toEqual([expect.stringContaining(what)]);
    expect(adviceFor([layer({ fetched: [file(path, 10_000)] })], [])).toEqual([]);
    expect(adviceFor([layer({ fetched: [file(`app/${path.replaceAll("/", "-")}`, 30_000)] })], [])).toEqual([]);
  });

  test("names archives, whose contents cannot be found on a device", () => {
    const fetched = [file("app/app.jar", 300_000), file("app/lib.zip", 200_000)];
    expect(adviceFor([layer({ fetched })], [])).toEqual([
      expect.stringMatching(/^app\/app\.jar and 1 more is compressed.*500\.0 kB/),
    ]);
  });

  test("names the first layer that changed if others were built again because of it", () => {
    const layers = [layer({ by: "here" }), layer(), layer({ instruction: "RUN npm ci" })];
    expect(adviceFor(layers, ["FROM", "COPY . .", "RUN npm ci"])).toEqual([
      expect.stringMatching(/^"COPY \. \." is the first that changed, and 1 layer after it.*1\.0+ MB whole/),
    ]);
    expect(adviceFor(layers, ["FROM", "COPY . .", "RUN npm install"])).toEqual([]);
  });

  test("names copies that only change owners, and layers with nothing new", () => {
    const chown = layer({ instruction: "RUN chown -R app /app", files_here: 10 });
    expect(adviceFor([chown], [])).toEqual([
      expect.stringContaining("the same contents as before in all 10 files"),
      expect.stringContaining("COPY --chown"),
    ]);
  });
});
