import { isUp } from "./container-decision.ts";
import type { ContainerStatus } from "./container-status.ts";
import { LABELS } from "./container.ts";

/*
 * A helper is a container that runs nothing: through it the engine reads an image's files, writes to a directory of the
 * device, where the agent itself has no rights, or tries whether an app could start. It is removed right after; one that a
 * crash left behind is recognized by its name and its labels.
 */

const HELPER_LABEL = "io.edge-agent.helper";
const NAME_PREFIX = "edge-agent-helper-";

/** Returns the name of a helper. @param unique distinguishes it from others */
export function helperName(unique: string): string {
  return `${NAME_PREFIX}${unique}`;
}

/** Returns a helper's labels. @param labels of the app's container it is created for */
export function helperLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return { [HELPER_LABEL]: labels[LABELS.app] ?? "", [LABELS.stateDir]: labels[LABELS.stateDir] ?? "" };
}

interface Container {
  readonly name: string;
  readonly status: ContainerStatus;
  readonly labels: Readonly<Record<string, string>>;
}

/** Returns the app for which this agent created the container as a helper; `undefined` if it is none of its helpers. */
export function helperApp({ name, status, labels }: Container, stateDir: string): string | undefined {
  const app = labels[HELPER_LABEL];
  // A container inherits its image's labels: they alone are no proof.
  if (!name.startsWith(NAME_PREFIX) || isUp(status) || labels[LABELS.stateDir] !== stateDir) return undefined;
  return app === "" ? undefined : app;
}
