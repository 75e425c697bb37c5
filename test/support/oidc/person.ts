/** What a provider says of a person. */
export type Claims = Readonly<Record<string, unknown>> & { readonly sub: string };

const MAX_STEPS = 12;

/** A browser as far as signing in needs one: cookies by host and name, redirects, and forms. */
export class Person {
  readonly #cookies = new Map<string, string>();

  cookie(url: string, name: string): string | undefined {
    return this.#cookies.get(`${new URL(url).host} ${name}`);
  }

  setCookie(url: string, name: string, value: string): void {
    this.#cookies.set(`${new URL(url).host} ${name}`, value);
  }

  /** Sends one request. Redirects are not followed. */
  async request(url: string, init: RequestInit = {}): Promise<Response> {
    const { host } = new URL(url);
    const own = [...this.#cookies].filter(([key]) => key.startsWith(`${host} `));
    const cookie = own.map(([key, value]) => `${key.slice(host.length + 1)}=${value}`).join("; ");
    const response = await fetch(url, {
      ...init,
      redirect: "manual",
      headers: { ...(cookie !== "" && { cookie }), ...(init.headers as Record<string, string>) },
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const at = pair.indexOf("=");
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
      if (value === "" || /max-age=0\b|expires=Thu, 01 Jan 1970/i.test(line)) this.#cookies.delete(`${host} ${name}`);
      else this.#cookies.set(`${host} ${name}`, value);
    }
    return response;
  }

  /**
   * Signs in at a provider, from the address that the service sends the browser to. Returns where the provider sends the
   * browser back to.
   */
  async passProvider(authorizationUrl: string, claims: Claims, callback: string): Promise<string> {
    let [url, init]: [string, RequestInit] = [authorizationUrl, {}];
    for (let step = 0; step < MAX_STEPS; step++) {
      const response = await this.request(url, init);
      const location = response.headers.get("location");
      init = {};
      if (location !== null) {
        url = new URL(location, url).href;
        if (url.startsWith(callback)) return url;
        continue;
      }
      const page = await response.text();
      if (!page.includes('name="login"'))
        throw new Error(`the provider shows no form: ${response.status} ${page.slice(0, 2_000)}`);
      await fetch(new URL("/test/claims", url), { method: "POST", body: JSON.stringify(claims) });
      init = { method: "POST", body: new URLSearchParams({ prompt: "login", login: claims.sub, password: "any" }) };
    }
    throw new Error("the provider does not send the browser back");
  }
}
