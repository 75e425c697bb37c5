import { afterAll, beforeAll, beforeEach, type TestContext } from "vitest";
import { System, type SystemOptions } from "../system.ts";

type SetUp = (owned: AsyncDisposableStack) => Promise<SystemOptions> | SystemOptions;

/**
 * One system for all tests of the file or `describe`. A failed test shows the last output of both processes.
 *
 * @param setUp returns the options; resources it adds to `owned`, such as an engine, are disposed after the system
 */
export function sharedSystem(setUp: SetUp = () => ({})): () => System {
  const owned = new AsyncDisposableStack();
  let system: System | undefined;
  const get = (): System => {
    if (!system) throw new Error("the system has not started");
    return system;
  };
  beforeAll(async () => {
    system = owned.use(await System.start(await setUp(owned)));
  });
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(get().tail())));
  afterAll(() => owned.disposeAsync());
  return get;
}

/** A system for one test, given its context. A failed test shows the last output of both processes. */
export async function startTestSystem(
  { onTestFinished, onTestFailed }: TestContext,
  options: SystemOptions = {},
): Promise<System> {
  const system = await System.start(options);
  onTestFinished(() => system[Symbol.asyncDispose]());
  onTestFailed(() => console.error(system.tail()));
  return system;
}
