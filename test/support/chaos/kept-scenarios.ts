import type { AgentRig } from "../agent-rig.ts";
import type { FakeImage } from "../fake-engine/fake-image.ts";
import type { AppRequest } from "../system.ts";
import { noise, type SomeUpload, someUpload } from "../uploads/upload.ts";
import type { ScenarioRequest } from "./model-control-plane.ts";
import type { Scenario } from "./scenario.ts";

/* Scenarios of apps with networks, a volume and files: what the agent keeps for an app outside of its container. */

const OLD = "example/app:1";
const NEW = "example/app:2";

const files = (version: string) => [
  { target: "/etc/app.conf", content: `version ${version}\n` },
  { target: "/etc/app.key", content: `key of ${version}, which is secret\n`, secret: true },
];
const contents = (version: string): string[] => files(version).map(({ content }) => content);

const installed: AppRequest = {
  name: "app",
  image: OLD,
  environments: [{ key: "SECRET", value: "value" }],
  ports: [{ host_port: 30_001, target_port: 80 }],
  networks: ["a", "b"],
  volumes: [{ name: "data", target: "/data", owner: "7:7" }],
  files: files("1"),
};

const changes = {
  image: NEW,
  networks: ["b", "c"],
  volumes: [{ name: "more", target: "/more", owner: "8:8" }],
  files: files("2"),
};

const deploy: ScenarioRequest = { action: "deploy", app: "app", spec: installed };
const update: ScenarioRequest = { action: "update", app: "app", spec: changes };
const remove: ScenarioRequest = { action: "remove", app: "app" };

const setUp =
  (image: FakeImage = {}) =>
  ({ engine }: AgentRig): void => {
    engine.addImage(OLD, image);
    engine.addImage(NEW, { layers: [1], ...image });
  };
/** The new version alone does so. */
const setUpNew =
  (image: FakeImage) =>
  ({ engine }: AgentRig): void => {
    engine.addImage(OLD);
    engine.addImage(NEW, { layers: [1], ...image });
  };

const CRASHES: FakeImage = { behaviour: { exit: { code: 1, afterMs: 500 } } };
const SLOW: FakeImage = { behaviour: { health: { becomes: "healthy", afterMs: 5_000 } } };
const OLD_KEPT = { networks: ["a", "b"], volumes: { data: "7:7" }, files: contents("1") } as const;
const BACK = { outcomes: ["Fail"], remainingApps: [{ app: "app" }] } as const;

const SCENARIOS: Readonly<Record<string, Omit<Scenario, "contents">>> = {
  "an app with networks, a volume and files": {
    requests: [deploy],
    setUp: setUp(),
    outcomes: ["Success"],
    remainingApps: [{ app: "app", by: 0 }],
    kept: OLD_KEPT,
  },
  "an app with networks, a volume and files that crashes": {
    requests: [deploy],
    setUp: setUp(CRASHES),
    outcomes: ["Fail"],
    remainingApps: [],
    // It may have written to the volume.
    kept: { volumes: { data: "7:7" } },
  },
  "an app with networks, a volume and files, cancelled early": {
    requests: [deploy],
    setUp: setUp(SLOW),
    interventions: [{ atMs: 400, kind: "cancel" }],
    outcomes: ["Fail"],
    remainingApps: [],
    kept: { volumes: "any" },
  },
  "an update of networks, volumes and files": {
    installed,
    requests: [update],
    setUp: setUp(),
    outcomes: ["Success"],
    remainingApps: [{ app: "app", by: 0 }],
    kept: { networks: ["b", "c"], volumes: { data: "7:7", more: "8:8" }, files: contents("2") },
  },
  "an update of networks, volumes and files that crashes": {
    installed,
    requests: [update],
    setUp: setUpNew(CRASHES),
    ...BACK,
    kept: { ...OLD_KEPT, volumes: { data: "7:7", more: "8:8" } },
  },
  "an update of networks, volumes and files, cancelled while its new version runs": {
    installed,
    requests: [update],
    setUp: setUpNew(SLOW),
    interventions: [{ atMs: 2_000, kind: "cancel" }],
    ...BACK,
    kept: { ...OLD_KEPT, volumes: "any" },
  },
  "a removal of an app with networks, a volume and files": {
    installed,
    requests: [remove],
    setUp: setUp(),
    outcomes: ["Success"],
    remainingApps: [],
    kept: { volumes: { data: "7:7" } },
  },
};

/** Large enough for several chunks. */
const fetched = ["1", "2"].map((version) => someUpload(Buffer.from(noise(8_000, version).toString("hex")), "/map"));
const [FIRST, SECOND] = [fetched[0]!, fetched[1]!];
const textOf = ({ content }: SomeUpload): string => content.toString();

const withMap = (upload: SomeUpload): AppRequest => {
  const { name, image, environments = [], ports = [] } = installed;
  return { name, image, environments, ports, files: [...files("1"), upload.file] };
};
const updateOfMap: ScenarioRequest = {
  action: "update",
  app: "app",
  spec: { image: NEW, files: [{ target: "/etc/app.conf" }, SECOND.file] },
};
const [conf = ""] = contents("1");

const FETCHED: Readonly<Record<string, Omit<Scenario, "contents">>> = {
  "an app with a file that is fetched": {
    requests: [{ action: "deploy", app: "app", spec: withMap(FIRST) }],
    setUp: setUp(),
    outcomes: ["Success"],
    remainingApps: [{ app: "app", by: 0 }],
    kept: { files: [...contents("1"), textOf(FIRST)], fetched: [FIRST] },
  },
  "an update of a file that is fetched": {
    installed: withMap(FIRST),
    requests: [updateOfMap],
    setUp: setUp(),
    outcomes: ["Success"],
    remainingApps: [{ app: "app", by: 0 }],
    kept: { files: [conf, textOf(SECOND)], fetched: [SECOND] },
  },
  "an update of a file that is fetched, which crashes": {
    installed: withMap(FIRST),
    requests: [updateOfMap],
    setUp: setUpNew(CRASHES),
    ...BACK,
    kept: { files: [...contents("1"), textOf(FIRST)], fetched: [FIRST] },
  },
  "a removal of an app with a file that was fetched": {
    installed: withMap(FIRST),
    requests: [remove],
    setUp: setUp(),
    outcomes: ["Success"],
    remainingApps: [],
  },
};

const plain = ["1", "2"].flatMap((version) => files(version).filter(({ secret }) => !secret));

export const KEPT: Readonly<Record<string, Scenario>> = Object.fromEntries(
  Object.entries({ ...SCENARIOS, ...FETCHED }).map(([name, scenario]) => {
    const uploads = name in FETCHED ? fetched : [];
    return [name, { ...scenario, isLong: true, contents: plain.map(({ content }) => content), uploads }];
  }),
);
