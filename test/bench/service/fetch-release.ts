import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { buffer } from "node:stream/consumers";
import type { AgentUpdate } from "../../../src/protocol/agents/agent-update.ts";
import { RELEASE_TYPES } from "../../../src/lib/release/read-release.ts";

const BUSY = 503;

interface Described {
  readonly digest: string;
}

interface Documents {
  readonly manifests?: readonly (Described & { readonly platform?: { readonly architecture?: string } })[];
  readonly config?: Described;
  readonly layers?: readonly Described[];
}

/**
 * Fetches of a release what an agent fetches whose Node.js is the same: its documents, its signature and the layer with the program,
 * over one connection.
 *
 * @returns bytes of bodies
 */
export async function fetchRelease(
  origin: URL,
  token: string,
  { repository, digest }: NonNullable<AgentUpdate["served"]>,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let bytes = 0;
  const get = async (path: string): Promise<Buffer> => {
    const body = await fetchOne(new URL(`/v2/${repository}/${path}`, origin), token, agent);
    bytes += body.length;
    return body;
  };
  const read = async (path: string): Promise<Documents> => JSON.parse((await get(path)).toString()) as Documents;
  try {
    const index = await read(`manifests/${digest}`);
    const own = index.manifests?.find(({ platform }) => platform?.architecture === "amd64");
    const image = await read(`manifests/${own?.digest}`);
    const referrers = await read(`referrers/${digest}?artifactType=${encodeURIComponent(RELEASE_TYPES.signature)}`);
    const signature = await read(`manifests/${referrers.manifests?.[0]?.digest}`);
    for (const part of [signature.layers?.[0], image.config, image.layers?.at(-1)]) await get(`blobs/${part?.digest}`);
    return bytes;
  } finally {
    agent.destroy();
  }
}

async function fetchOne(url: URL, token: string, agent: Agent): Promise<Buffer> {
  for (;;) {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, { agent, headers: { Authorization: `Bearer ${token}` } }, resolve)
        .on("error", reject)
        .end();
    });
    const body = await buffer(response);
    if (response.statusCode === 200) return body;
    // The service has as many transfers as it allows.
    if (response.statusCode !== BUSY) throw new Error(`${url.pathname}: ${response.statusCode} ${body.toString()}`);
    await sleep(Number(response.headers["retry-after"] ?? 1) * 1000);
  }
}
