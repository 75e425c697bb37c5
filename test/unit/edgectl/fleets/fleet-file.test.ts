import { expect, test } from "vitest";
import { Failure } from "../../../../src/edgectl/failure.ts";
import { readFleetFile } from "../../../../src/edgectl/fleets/fleet-file.ts";

const read = (text: string, env: Readonly<Record<string, string>> = {}) =>
  readFleetFile(text, { fileName: "fleet.yaml", path: undefined, env });

function problemsOf(text: string): unknown {
  try {
    read(text);
  } catch (error) {
    if (error instanceof Failure) return error.details?.["problems"];
    throw error;
  }
  return [];
}

test("a file has the fleet, its apps as in a file of several apps, and absent ones", () => {
  const { fleet, apps, absent, comment } = read(`
fleet: kiosks
selector: "role = kiosk, region != south"
strategy: {max_parallel: 20, waves: [{limit: 20%}]}
apps:
  db: {image: 'db:1'}
  web:
    image: web:1
    depends_on: {db: healthy}
    environments: [{key: SITE, value: "\${SITE}"}]
absent: [old]
comment: New door
`);
  expect(fleet).toMatchObject({ name: "kiosks", selector: "role=kiosk,region!=south", apps: ["db", "web", "old"] });
  expect(fleet.strategy).toMatchObject({ max_parallel: 20, attempts: 2, waves: [{ limit: "20%", advance: "auto" }] });
  expect(apps).toEqual([
    { app: { name: "db", image: "db:1" }, depends_on: [] },
    {
      app: { name: "web", image: "web:1", environments: [{ key: "SITE", value: "${SITE}" }] },
      depends_on: [{ app: "db", condition: "healthy" }],
    },
  ]);
  expect({ absent, comment }).toEqual({ absent: ["old"], comment: "New door" });
});

test("a secret without a value gets that of the shell's variable of its name", () => {
  const text = "fleet: f\nselector: a\napps: {web: {image: w, environments: [{key: TOKEN, secret: true}]}}\n";
  expect(read(text, { TOKEN: "x" }).apps[0]?.app["environments"]).toEqual([{ key: "TOKEN", secret: true, value: "x" }]);
  expect(problemsOf(text)).toEqual([
    expect.stringMatching(/^fleet.yaml:3:\d+: apps.web: TOKEN is a secret without a value/),
  ]);
});

test("a file with nothing but absent apps is one", () => {
  expect(read("fleet: f\nselector: a\nabsent: [old]\n")).toMatchObject({ apps: [], absent: ["old"] });
});

test("a file may ask for a version of the agent, with apps or without any", () => {
  const text = "fleet: f\nselector: a\nagent: {version: 1.5.0}\n";
  expect(read(text)).toMatchObject({ fleet: { apps: [] }, apps: [], agentVersion: "1.5.0" });
  expect(read(`${text}apps: {w: {image: w}}\n`)).toMatchObject({ fleet: { apps: ["w"] }, agentVersion: "1.5.0" });
  expect(read("fleet: f\nselector: a\napps: {w: {image: w}}\n").agentVersion).toBeUndefined();
  expect(problemsOf("fleet: f\nselector: a\nagent: {version: ../1}\n")).toEqual([
    expect.stringMatching(/^fleet.yaml:3:\d+: `agent.version` must be a version of edge-agent/),
  ]);
  expect(problemsOf("fleet: f\nselector: a\nagent: {image: x}\n")).not.toEqual([]);
  expect(problemsOf("fleet: f\nselector: a\n")).toEqual([
    expect.stringContaining("`apps` must not be empty without `agent`"),
  ]);
});

test.each([
  ["fleet: F!\nselector: a\napps: {w: {image: w}}", /fleet.yaml:1:1: `fleet` must be 1 to 63 lowercase/],
  ["fleet: f\nselector: 'a=b=c'\napps: {w: {image: w}}", /fleet.yaml:2:1: `selector` /],
  ["fleet: f\nselector: a\nstrategy:\n  attempts: 99\napps: {w: {image: w}}", /fleet.yaml:4:3: `strategy.attempts`/],
  ["fleet: f\nselector: a\napps:\n  w:\n    image: 'w:${V}'", /fleet.yaml:5:5: apps.w: `image`/],
  [
    "fleet: f\nselector: a\napps: {w: {image: w}}\nabsnt: [x]",
    /fleet.yaml:4:1: absnt is not known; did you mean `absent`/,
  ],
  ["", /fleet.yaml:1:1: The file is empty/],
  ["# nothing yet\n", /The file is empty/],
  ["null", /The file is empty/],
  ["- fleet: f", /fleet.yaml:1:1: The file is not a map of keys and values/],
  ["fleet", /The file is not a map of keys and values/],
  ["fleet: f\n---\nfleet: g", /fleet.yaml:2:1: The file has several documents/],
  ["selector: a\napps: {w: {image: w}}", /The file has no `fleet`/],
  ["fleet: f\nselector: a", /`apps` must not be empty without `agent`/],
  ["fleet: f\nselector: a\napps: {w: {image: w}}\nabsent: [w]", /fleet.yaml:4:\d+: `absent`: .*twice/],
])("%j is refused by line", (text, problem) => {
  expect(String((problemsOf(text) as string[])[0])).toMatch(problem);
});
