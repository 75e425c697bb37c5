import type { Container } from "dockerode";
import { expect, test } from "vitest";
import { removeUntilGone } from "../../../../src/agent/engine/docker/stop-and-remove.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const signal = new AbortController().signal;

function failure(status: number, message: string): Error {
  return Object.assign(new Error(message), { statusCode: status });
}

/** A container whose removal is answered in this way, one answer after the other. */
function containerThatAnswers(...answers: readonly (readonly [status: number, message: string] | "removed")[]) {
  let asked = 0;
  let isThere = true;
  const remove = async (): Promise<void> => {
    const answer = answers[asked++];
    if (answer === undefined) throw new Error("asked too often");
    if (answer !== "removed") throw failure(...answer);
  };
  const inspect = async (): Promise<object> => {
    if (!isThere) throw failure(404, "no such container");
    return {};
  };
  const forget = (): void => void (isThere = false);
  return { container: { remove, inspect } as unknown as Container, asked: () => asked, forget };
}

async function removed(container: Container): Promise<void> {
  const clock = new FakeClock();
  const removing = removeUntilGone(container, clock, signal);
  await Promise.race([clock.advance(40_000), removing.catch(() => undefined)]);
  await removing;
}

test.each([
  ["is removed by somebody else already", [409, "removal of container 1 is already in progress"]],
  ["changes its state right now", [500, "cannot remove container 1: container state improper"]],
] as const)("a container that %s is asked for again until it is gone", async (_what, answer) => {
  const { container, asked } = containerThatAnswers(answer, answer, "removed");
  await removed(container);
  expect(asked()).toBe(3);
});

test("a container that does not exist counts as removed", async () => {
  const { container, asked } = containerThatAnswers([404, "no such container"]);
  await removed(container);
  expect(asked()).toBe(1);
});

test("an engine's failure to remove it is reported", async () => {
  const { container, asked } = containerThatAnswers([500, "driver failed to remove root filesystem"]);
  const reported = { kind: "not_removable", message: "driver failed to remove root filesystem" };
  await expect(removed(container)).rejects.toMatchObject(reported);
  expect(asked()).toBe(1);
});

test("a container that the engine has forgotten after all counts as removed, as Podman does", async () => {
  const { container, forget } = containerThatAnswers([500, "removing container root filesystem: 1 error occurred"]);
  forget();
  await removed(container);
});

test("a removal that goes on for ever is reported as that, not as an engine that does not answer", async () => {
  const answers = Array.from({ length: 1_000 }, () => [409, "removal of container 1 is already in progress"] as const);
  const { container } = containerThatAnswers(...answers);
  await expect(removed(container)).rejects.toMatchObject({ kind: "not_removable", message: /already in progress/ });
});
