import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PlannedChange } from "../../../src/protocol/apps/apply.ts";
import { type EdgectlUser, edgectlUser } from "./process.ts";
import { event, json, type Respond, startScriptedService, stream } from "./scripted-service.ts";

/*
 * edgectl apply with several apps against a scripted service.
 */

const KEY = "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const APPLY = "/v1/assets/GW-1/edge/apply";
export const DRY = `POST ${APPLY}?dry_run=true`;
export const REAL = `POST ${APPLY}`;
export const APPS = "/v1/assets/GW-1/edge/apps";
export const HASH = "0123456789abcdef".repeat(4);

/** A compose file with a variable and two ports, one of them outside the range of the device. */
export const COMPOSE = `
services:
  mosquitto:
    image: mosquitto:2
    restart: always
    ports: ["1883:1883"]
  web:
    image: "web:\${TAG}"
    restart: always
    ports: ["30080:80"]
    depends_on: [mosquitto]
`;

export const CHANGES: PlannedChange[] = [
  { app: "mosquitto", change: "create", fields: [] },
  { app: "node-red", change: "update", fields: ["image", "environments.TOKEN"] },
  { app: "old", change: "remove", fields: [] },
];

/** The answer to a dry run. */
export function planned(plan: readonly PlannedChange[] = CHANGES, download_bytes = 9_100_000) {
  const details = { dry_run: true, plan, plan_hash: HASH, download_bytes };
  return stream([event(1), event(2, { status: "Success", step: "done", message: "Nothing was changed.", details })]);
}

export const SUCCESS = { status: "Success", step: "done", message: "Project line-3 is applied." };
/** The answer to a request that is carried out. */
export const done = () =>
  stream([event(1, { app: "mosquitto", step: "pulling", message: "Pulling." }), event(2, SUCCESS)]);

export async function startApply() {
  const service = await startScriptedService();
  service.on(`GET ${APPS}`, json(200, { apps: [], reported_at: 1, reachable: true }));
  const user = await edgectlUser();
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: KEY };
  const directory = join(user.configDirectory, "gw");
  const posts = () => service.requests.filter(({ method }) => method === "POST");
  return {
    service,
    user,
    env,
    directory,
    /** Answers the requests to apply, in order. */
    answer: (...responses: readonly Respond[]) => service.on(REAL, ...responses),
    requests: () => service.requests.map(({ method, path }) => `${method} ${path}`),
    body: (index = -1) => JSON.parse(posts().at(index)?.body ?? "null") as Record<string, unknown>,
    async write(name: string, text: string): Promise<string> {
      const file = join(directory, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
      return file;
    },
    async apply(text: string, ...flags: string[]): ReturnType<EdgectlUser["run"]> {
      const file = await this.write("file.yaml", text);
      return user.run(["apply", "GW-1", "-f", file, ...flags], { env });
    },
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}
