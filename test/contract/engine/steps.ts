import { expect, onTestFinished } from "vitest";
import type { ContainerRequest, ContainerState } from "../../../src/agent/engine/engine.ts";
import type { EngineErrorKind } from "../../../src/agent/core/error-kind.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { uniqueName } from "../../support/images/load-image.ts";
import { waitFor } from "../../support/wait-for.ts";
import type { EngineHarness } from "./harness.ts";
import { plainRequest } from "./harness.ts";

/** A signal nobody aborts. */
export const unaborted: AbortSignal = new AbortController().signal;

/** Creates a container that is removed when the test ends. Answers its id and name. */
export async function create(
  { engine }: EngineHarness,
  image: string,
  changes: Partial<ContainerRequest> = {},
): Promise<{ readonly id: string; readonly name: string }> {
  const name = changes.name ?? uniqueName("app");
  const id = await engine.createContainer(plainRequest(name, image, changes), unaborted);
  onTestFinished(() => engine.removeContainer(id, unaborted));
  return { id, name };
}

/** Creates and starts a container that is removed when the test ends. */
export async function run(
  harness: EngineHarness,
  image: string,
  changes: Partial<ContainerRequest> = {},
): Promise<{ readonly id: string; readonly name: string }> {
  const container = await create(harness, image, changes);
  await harness.engine.startContainer(container.id, unaborted);
  return container;
}

/** State of a container that exists. */
export async function stateOf({ engine }: EngineHarness, id: string): Promise<ContainerState> {
  const state = await engine.inspectContainer(id, unaborted);
  expect(state).toBeDefined();
  return state!;
}

/** Waits until the container's state is as wanted, and answers it. */
export function waitForState(
  harness: EngineHarness,
  id: string,
  what: string,
  wanted: (state: ContainerState) => boolean,
): Promise<ContainerState> {
  return waitFor(what, async () => {
    const state = await stateOf(harness, id);
    if (wanted(state)) return state;
    throw new Error(JSON.stringify(state));
  });
}

/** Checks that a call fails with an `EngineError` of this kind and a message that is one clean line. */
export async function expectKind(answer: Promise<unknown>, kind: EngineErrorKind): Promise<void> {
  const error: unknown = await answer.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(EngineError);
  const { kind: actual, message } = error as EngineError;
  expect({ kind: actual, message }).toMatchObject({ kind });
  expect(message).toMatch(/^\S[^\p{Cc}]{0,499}$/u);
}
