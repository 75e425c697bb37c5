import { PrivateEngine, privateEngineUnavailableReason } from "../private-engine.ts";
import { podmanUnavailableReason, startPodman } from "../podman-service.ts";

interface OwnEngine extends AsyncDisposable {
  readonly socketPath: string;
}

/** An engine for examples: its own, since the names in the files would meet the machine's. Its containers reach each other. */
export interface ExampleEngine {
  readonly name: string;
  /** Includes why it cannot be started here. */
  readonly title: string;
  readonly isMissing: boolean;
  start(): Promise<OwnEngine>;
}

function exampleEngine(name: string, missing: string | undefined, start: () => Promise<OwnEngine>): ExampleEngine {
  return {
    name,
    title: missing === undefined ? name : `${name} (skipped: ${missing})`,
    isMissing: missing !== undefined,
    start,
  };
}

export const DOCKER = exampleEngine("Docker", await privateEngineUnavailableReason(), () =>
  PrivateEngine.start({ connectsContainers: true }),
);

export const PODMAN = exampleEngine("Podman", await podmanUnavailableReason(), startPodman);
