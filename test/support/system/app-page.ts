import { waitFor } from "../wait-for.ts";

/** Returns the app's response at its host port. Waits until the app listens. */
export function page(hostPort: number, path: string = "/"): Promise<string> {
  const url = `http://127.0.0.1:${hostPort}${path}`;
  return waitFor(url, async () => await (await fetch(url)).text());
}
