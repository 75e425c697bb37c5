import type { ApiResponse } from "./api-client.ts";
import type { ControlPlane } from "./control-plane.ts";

/** A JSON client of the HTTP API that keeps cookies, as a page of the service in a browser. */
export class Browser {
  readonly #control: Pick<ControlPlane, "url">;
  readonly cookies = new Map<string, string>();

  constructor(control: Pick<ControlPlane, "url">, cookie?: string) {
    this.#control = control;
    const [, name, value] = /^([^=]+)=(.*)$/.exec(cookie ?? "") ?? [];
    if (name !== undefined && value !== undefined) this.cookies.set(name, value);
  }

  get cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiResponse> {
    const response = await fetch(this.#control.url + path, {
      method,
      headers: {
        "Sec-Fetch-Site": "same-origin",
        ...(this.cookies.size > 0 && { Cookie: this.cookieHeader }),
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  }

  #keep(line: string): void {
    const [pair = "", ...attributes] = line.split("; ");
    const [, name = "", value = ""] = /^([^=]+)=(.*)$/.exec(pair) ?? [];
    if (attributes.includes("Max-Age=0")) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
