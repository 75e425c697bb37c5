import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import type { ContainerChange } from "../../../src/agent/engine/engine.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import type { FakeContainer } from "./fake-container.ts";

const EVENTS_EVERY_MS = 100;

interface Watched {
  /** `KEY` or `KEY=VALUE`. */
  readonly label: string;
  readonly containers: () => readonly FakeContainer[];
  /** False once the engine has ended its event streams. */
  readonly isOpen: () => boolean;
  readonly clock: Clock;
}

/** Yields the fake engine's events of containers with the label; `undefined` once it is watching. */
export async function* watch(
  { label, containers, isOpen, clock }: Watched,
  signal: AbortSignal,
): AsyncGenerator<ContainerChange | undefined, void> {
  let last = snapshot(containers());
  yield undefined;
  for (;;) {
    await clock.sleep(EVENTS_EVERY_MS, signal);
    if (!isOpen()) throw new EngineError("unavailable", "the container engine closed its event stream");
    const now = snapshot(containers());
    const ids = [...new Set([...last.keys(), ...now.keys()])];
    const changed = ids.filter((id) => last.get(id)?.text !== now.get(id)?.text);
    const [key = "", value] = label.split("=");
    for (const id of changed) {
      const { labels = {} } = now.get(id) ?? last.get(id) ?? {};
      if (value === undefined ? key in labels : labels[key] === value) yield { id, labels };
    }
    last = now;
  }
}

function snapshot(
  containers: readonly FakeContainer[],
): Map<string, { readonly text: string; readonly labels: Readonly<Record<string, string>> }> {
  return new Map(
    containers.map(({ id, state, request }) => {
      const { name, status, startedAt, health } = state;
      return [id, { text: JSON.stringify([name, status, startedAt, health]), labels: request.labels }];
    }),
  );
}
