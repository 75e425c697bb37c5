import { expect, onTestFinished, test } from "vitest";
import { dockerSocket } from "../../support/docker-socket.ts";
import { engineRequest, loadImage, sleeperImage, uniqueName } from "../../support/images.ts";

const socket = await dockerSocket();

test.skipIf(socket === undefined)(
  "removing a test's image leaves containers of others with the same image",
  async () => {
    const [mine, other] = await Promise.all([load(), load()]);
    const [own, foreign] = [await create(mine), await create(other)];
    await mine[Symbol.asyncDispose]();
    expect(await status(own)).toBe(404);
    expect(await status(foreign)).toBe(200);
    await other[Symbol.asyncDispose]();
    expect(await status(foreign)).toBe(404);
  },
);

async function load() {
  const image = await loadImage(socket!, await sleeperImage(), "same");
  onTestFinished(() => image[Symbol.asyncDispose]());
  return image;
}

async function create({ reference }: { readonly reference: string }): Promise<string> {
  const name = uniqueName("same");
  const options = {
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ Image: reference }),
  };
  expect((await engineRequest(socket!, "POST", `/containers/create?name=${name}`, options)).status).toBe(201);
  return name;
}

async function status(container: string): Promise<number> {
  return (await engineRequest(socket!, "GET", `/containers/${container}/json`)).status;
}
