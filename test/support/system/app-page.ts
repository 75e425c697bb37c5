import { waitFor } from "../wait-for.ts";

/** What the app answers at its port of this machine. Waits until it listens. */
export function page(hostPort: number, path: string = "/"): Promise<string> {
  const url = `http://127.0.0.1:${hostPort}${path}`;
  return waitFor(url, async () => await (await fetch(url)).text());
}
