import { Agent, request } from "node:http";
import type { Image } from "./image.ts";
import { imageArchive } from "./image.ts";

/** An image loaded into an engine. Disposing it removes it and its containers. */
export interface LoadedImage extends AsyncDisposable {
  readonly reference: string;
}

/** Loads an image into the engine at this socket under a unique name. */
export async function loadImage(socketPath: string, image: Image, label: string = "image"): Promise<LoadedImage> {
  const reference = `localhost/${uniqueName(label)}:1`;
  await loadImageAs(socketPath, image, reference);
  return { reference, [Symbol.asyncDispose]: () => removeImage(socketPath, reference) };
}

/** Loads an image under a name that the caller removes, such as with its private engine. */
export async function loadImageAs(socketPath: string, image: Image, reference: string): Promise<void> {
  const archive = await imageArchive(image, reference);
  const headers = { "Content-Type": "application/x-tar", "Content-Length": String(archive.length) };
  const answer = await engineRequest(socketPath, "POST", "/images/load?quiet=1", { headers, body: archive });
  if (answer.status !== 200 || answer.body.includes('"error"')) {
    throw new Error(`the engine did not load ${reference}: ${answer.status} ${answer.body}`);
  }
}

/**
 * Removes an image and the containers created from it under this name. A missing image is no error.
 *
 * Containers of the same image under another name are another test's, at the same time: many tests load the same image.
 * The engine's filter `ancestor` matches them too, since it compares IDs of images.
 */
export async function removeImage(socketPath: string, reference: string): Promise<void> {
  const filters = encodeURIComponent(JSON.stringify({ ancestor: [reference] }));
  const listed = await engineRequest(socketPath, "GET", `/containers/json?all=1&filters=${filters}`);
  if (listed.status === 200) {
    const containers = JSON.parse(listed.body) as { readonly Id: string; readonly Image: string }[];
    for (const { Id, Image } of containers) {
      if (Image === reference) await engineRequest(socketPath, "DELETE", `/containers/${Id}?force=1&v=1`);
    }
  }
  const answer = await engineRequest(socketPath, "DELETE", `/images/${reference}?force=1`);
  if (answer.status >= 300 && answer.status !== 404) {
    throw new Error(`the engine did not remove ${reference}: ${answer.status} ${answer.body}`);
  }
}

/** Returns a unique name with the prefix that marks leftovers of tests. */
export function uniqueName(label: string): string {
  return `eat-${Math.random().toString(36).slice(2, 10)}-${label}`;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

interface RequestOptions {
  readonly headers?: Record<string, string>;
  readonly body?: Buffer | string;
}

/** Calls the engine's API directly, without the client under test. */
export function engineRequest(
  socketPath: string,
  method: string,
  path: string,
  { headers = {}, body }: RequestOptions = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const agent = new Agent({ keepAlive: false });
    const call = request({ socketPath, method, path, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() });
      });
    });
    call.on("error", reject);
    call.end(body);
  });
}
