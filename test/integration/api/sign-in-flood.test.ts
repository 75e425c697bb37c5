import { Agent, request } from "node:http";
import { expect, test } from "vitest";
import type { PasswordAlgorithm } from "../../../src/control-plane/core/people/password-hash.ts";
import { PasswordHasher } from "../../../src/control-plane/accounts/password-hasher.ts";
import { startControlPlane } from "../../support/control-plane.ts";
import { someAudit, someUser } from "../../support/control-plane/people.ts";

const ATTEMPTS = process.env["CHAOS"] === "full" ? 10_000 : 4_000;
const SOURCES = 50;
/** Attempts that are under way at the same time. */
const CONNECTIONS = 100;
const PASSWORD = "a long way to the pump house";
/** A tenth of what a hash costs otherwise, which still is most of what an attempt costs. */
const HASH: PasswordAlgorithm = { name: "argon2id", memoryKib: 2_048, passes: 2, lanes: 1 };
/** What one source may try before it has to wait, and a few more with the pauses that end during the test. */
const MAX_CHECKED_PER_SOURCE = 30;

interface Answer {
  readonly status: number;
  readonly cookies: readonly string[];
}

/** Sends JSON as the proxy in front of the service does. */
function send(
  url: string,
  agent: Agent,
  source: string,
  email: string,
  password: string,
  cookie = "",
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const headers = { "Content-Type": "application/json", "X-Forwarded-For": source, ...(cookie !== "" && { cookie }) };
  const sent = request(`${url}/v1/session`, { method: "POST", agent, headers }, (response) => {
    response.resume();
    response.once("end", () =>
      resolve({ status: response.statusCode ?? 0, cookies: response.headers["set-cookie"] ?? [] }),
    );
  });
  sent.once("error", reject);
  sent.end(JSON.stringify({ email, password }));
  return promise;
}

test(`${ATTEMPTS} attempts from ${SOURCES} sources keep nobody out: people with the attacked addresses get in meanwhile, and everything else goes on`, async () => {
  await using control = await startControlPlane({
    config: { trusted_proxies: "127.0.0.1", rate_limit_per_minute: 600 },
    passwordAlgorithm: HASH,
  });
  const { url, store } = control;
  const { accountId, apiKey } = await control.account();
  const hasher = new PasswordHasher({ algorithm: HASH });
  const users = await Promise.all(
    ["ada", "ben", "cleo", "dan", "eve"].map(async (name) => {
      const passwordHash = await hasher.hash(PASSWORD, { source: name, goesFirst: false });
      const user = someUser({ accountId, email: `${name}@example.com`, passwordHash });
      await store.users.createUser(user, undefined, someAudit("user.created", accountId));
      return user;
    }),
  );
  const people = new Agent({ keepAlive: true });
  // Three of them have signed in before, with browsers that are known from then on.
  const known = users.slice(0, 3);
  const tokens: string[] = [];
  for (const [index, { email }] of known.entries()) {
    const { status, cookies } = await send(url, people, `198.51.100.${index}`, email, PASSWORD);
    expect(status).toBe(200);
    tokens.push(cookies.map((line) => line.split(";")[0]!).find((pair) => pair.startsWith("edge_browser="))!);
  }

  const attackers = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const targets = [...users.map(({ email }) => email), "nobody@example.com", "guess@example.com"];
  const statuses = new Map<number, number>();
  let sent = 0;
  let areIn = false;
  // It goes on until the people are in, however long that takes.
  const isUnderWay = (): boolean => sent < ATTEMPTS || !areIn;
  const flood = async (): Promise<void> => {
    while (isUnderWay()) {
      const number = sent++;
      const source = `192.0.2.${number % SOURCES}`;
      const target = targets[Math.floor(number / SOURCES) % targets.length]!;
      const { status } = await send(url, attackers, source, target, `a guess of many, number ${number}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const flooding = Promise.all(Array.from({ length: CONNECTIONS }, flood));
  let reads = 0;
  // At most 600 a minute.
  const reading = (async () => {
    for (; reads < 500 && isUnderWay(); reads++) {
      const response = await fetch(`${url}/v1/assets`, { headers: { "X-API-Key": apiKey } });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    }
  })();

  const honest = async (): Promise<number[]> => {
    const answers = await Promise.all([
      // A known browser, even behind an address that attackers share.
      ...known.map(({ email }, index) => send(url, people, `192.0.2.${index}`, email, PASSWORD, tokens[index])),
      // Another one, at an address of its own.
      ...users.map(({ email }, index) => send(url, people, `203.0.113.${index}`, email, PASSWORD)),
    ]);
    return answers.map(({ status }) => status);
  };
  try {
    for (let round = 0; round < 3; round++) expect(await honest()).toEqual([200, 200, 200, 200, 200, 200, 200, 200]);
  } finally {
    areIn = true;
  }
  const readMeanwhile = reads;
  await Promise.all([flooding, reading]);
  expect(readMeanwhile).toBeGreaterThan(0);
  expect([...statuses.keys()].toSorted((a, b) => a - b)).toEqual([401, 429]);
  expect(statuses.get(401)).toBeLessThanOrEqual(SOURCES * MAX_CHECKED_PER_SOURCE);
  people.destroy();
  attackers.destroy();
});
