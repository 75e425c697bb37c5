import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import type { AgentRig } from "../agent-rig.ts";
import type { FakeImage } from "../fake-engine/fake-image.ts";
import type { AppRequest } from "../system.ts";

const IMAGE = "example/app:1";
const MOVING = "example/app:latest";
const PORT = 30_001;

/** Something that happens at some time, in milliseconds of the fake clock. */
export type Happening = { readonly atMs: number } & (
  | { readonly kind: "cancel" }
  | { readonly kind: "engine"; readonly answers: boolean }
);

/** A story of deployments on one device, and how each of them must end. */
export interface Scenario {
  readonly apps: readonly AppRequest[];
  /** In the order of `apps`. */
  readonly ends: readonly ("Success" | "Fail")[];
  readonly happenings?: readonly Happening[];
  /** The control plane hears nothing before that time, in milliseconds. */
  readonly silentMs?: number;
  setUp(rig: AgentRig): void;
}

const app = (name: string, image = IMAGE): AppRequest => ({
  name,
  image,
  environments: [{ key: "SECRET", value: "value" }],
  ports: [{ host_port: PORT, target_port: 80 }],
});

const present = (image: FakeImage = {}) => ({
  apps: [app("app")],
  setUp: (rig: AgentRig) => rig.engine.addImage(IMAGE, image),
});

const toPull = {
  apps: [app("app")],
  setUp: (rig: AgentRig) => rig.engine.publish(IMAGE, { pullMs: 3_000 }),
};

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "an image that is present": { ...present(), ends: ["Success"] },
  "an image to pull": { ...toPull, ends: ["Success"] },
  "an image no registry has": { apps: [app("app")], setUp: () => {}, ends: ["Fail"] },
  "a moving tag while the registry is gone": {
    apps: [app("app", MOVING)],
    setUp({ engine }) {
      engine.addImage(MOVING);
      engine.publish(MOVING, new EngineError("registry_unreachable", "no route to host"));
    },
    ends: ["Success"],
  },
  "an app that crashes": { ...present({ behaviour: { exit: { code: 1, afterMs: 500 } } }), ends: ["Fail"] },
  "an app that becomes healthy": {
    ...present({ behaviour: { health: { becomes: "healthy", afterMs: 2_000 } } }),
    ends: ["Success"],
  },
  "an app that becomes unhealthy": {
    ...present({ behaviour: { health: { becomes: "unhealthy", afterMs: 2_000 } } }),
    ends: ["Fail"],
  },
  "a port that is taken when the app starts": {
    apps: [app("app")],
    setUp({ engine }) {
      engine.addImage(IMAGE);
      engine.occupyPort(PORT);
    },
    ends: ["Fail"],
  },
  "an image to pull, cancelled in mid-pull": {
    ...toPull,
    happenings: [{ atMs: 1_500, kind: "cancel" }],
    ends: ["Fail"],
  },
  "an app cancelled after its success, before that was told": {
    ...present(),
    silentMs: 6_000,
    happenings: [{ atMs: 5_000, kind: "cancel" }],
    ends: ["Fail"],
  },
  "an app while the engine is away for a time": {
    ...toPull,
    happenings: [
      { atMs: 3_200, kind: "engine", answers: false },
      { atMs: 12_000, kind: "engine", answers: true },
    ],
    ends: ["Success"],
  },
  "two apps that want one port": {
    apps: [app("first"), app("second")],
    setUp: ({ engine }) => engine.addImage(IMAGE),
    ends: ["Success", "Fail"],
  },
  "two apps of one name": {
    apps: [app("app"), { ...app("app"), ports: [] }],
    setUp: ({ engine }) => engine.publish(IMAGE, { pullMs: 1_000 }),
    ends: ["Success", "Fail"],
  },
};
