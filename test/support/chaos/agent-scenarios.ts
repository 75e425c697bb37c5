import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import type { AgentRig } from "../agent-rig.ts";
import type { FakeImage } from "../fake-engine/fake-image.ts";
import type { AppRequest } from "../system.ts";
import { CHANGES } from "./change-scenarios.ts";
import { GROUPS } from "./group-scenarios.ts";
import { KEPT } from "./kept-scenarios.ts";
import type { ScenarioRequest } from "./model-control-plane.ts";
import type { Scenario } from "./scenario.ts";

const IMAGE = "example/app:1";
const MOVING = "example/app:latest";
const PORT = 30_001;

const app = (name: string, image = IMAGE): AppRequest => ({
  name,
  image,
  environments: [{ key: "SECRET", value: "value" }],
  ports: [{ host_port: PORT, target_port: 80 }],
});

const deploy = (spec: AppRequest): ScenarioRequest => ({ action: "deploy", app: spec.name, spec });

const GOOD = { outcomes: ["Success"], remainingApps: [{ app: "app", by: 0 }] } as const;
const BAD = { outcomes: ["Fail"], remainingApps: [] } as const;

const present = (image: FakeImage = {}) => ({
  requests: [deploy(app("app"))],
  setUp: (rig: AgentRig) => rig.engine.addImage(IMAGE, image),
});

const toPull = {
  requests: [deploy(app("app"))],
  setUp: (rig: AgentRig) => rig.engine.publish(IMAGE, { pullMs: 3_000 }),
};

/** Scenarios of first deployments. */
const DEPLOYMENTS: Readonly<Record<string, Scenario>> = {
  "an image that is present": { ...present(), ...GOOD },
  "an image to pull": { ...toPull, ...GOOD },
  "an image the engine pulls": { ...toPull, ...GOOD, pullBy: "engine" },
  "an image no registry has": { requests: [deploy(app("app"))], setUp: () => {}, ...BAD },
  "a moving tag while the registry is gone": {
    requests: [deploy(app("app", MOVING))],
    setUp({ engine }) {
      engine.addImage(MOVING);
      engine.publish(MOVING, new EngineError("registry_unreachable", "no route to host"));
    },
    ...GOOD,
  },
  "an app that crashes": { ...present({ behaviour: { exit: { code: 1, afterMs: 500 } } }), ...BAD },
  "an app that becomes healthy": {
    ...present({ behaviour: { health: { becomes: "healthy", afterMs: 2_000 } } }),
    ...GOOD,
  },
  "an app that becomes unhealthy": {
    ...present({ behaviour: { health: { becomes: "unhealthy", afterMs: 2_000 } } }),
    ...BAD,
  },
  "a port that is taken when the app starts": {
    requests: [deploy(app("app"))],
    setUp({ engine }) {
      engine.addImage(IMAGE);
      engine.occupyPort(PORT);
    },
    ...BAD,
  },
  "an image to pull, cancelled in mid-pull": {
    ...toPull,
    interventions: [{ atMs: 1_500, kind: "cancel" }],
    ...BAD,
  },
  "an app cancelled after its success, before that was reported": {
    ...present(),
    silentMs: 6_000,
    interventions: [{ atMs: 5_000, kind: "cancel" }],
    ...BAD,
  },
  "an app while the engine is away for a time": {
    ...toPull,
    interventions: [
      { atMs: 3_200, kind: "engine", answers: false },
      { atMs: 12_000, kind: "engine", answers: true },
    ],
    ...GOOD,
  },
  "two apps that want one port": {
    requests: [deploy(app("first")), deploy(app("second"))],
    setUp: ({ engine }) => engine.addImage(IMAGE),
    outcomes: ["Success", "Fail"],
    remainingApps: [{ app: "first", by: 0 }],
  },
  "two apps of one name": {
    requests: [deploy(app("app")), deploy({ ...app("app"), ports: [] })],
    setUp: ({ engine }) => engine.publish(IMAGE, { pullMs: 1_000 }),
    outcomes: ["Success", "Fail"],
    remainingApps: [{ app: "app", by: 0 }],
  },
};

/** Every scenario. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = { ...DEPLOYMENTS, ...CHANGES, ...GROUPS, ...KEPT };
