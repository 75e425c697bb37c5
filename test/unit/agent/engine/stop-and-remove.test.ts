import type { Container } from "dockerode";
import { expect, test } from "vitest";
import { removeUntilGone } from "../../../../src/agent/engine/docker/stop-and-remove.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const signal = new AbortController().signal;

/** A container whose removal is answered in this way, one answer after the other. */
function containerThatAnswers(...answers: readonly (readonly [status: number, message: string] | "removed")[]) {
  let asked = 0;
  const remove = async (): Promise<void> => {
    const answer = answers[asked++];
    if (answer === undefined) throw new Error("asked too often");
    if (answer !== "removed") throw Object.assign(new Error(answer[1]), { statusCode: answer[0] });
  };
  return { container: { remove } as unknown as Container, asked: () => asked };
}

async function removed(container: Container): Promise<void> {
  const clock = new FakeClock();
  const removing = removeUntilGone(container, clock, signal);
  await Promise.race([clock.advance(10_000), removing.catch(() => undefined)]);
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
  await expect(removed(container)).rejects.toThrow("root filesystem");
  expect(asked()).toBe(1);
});
