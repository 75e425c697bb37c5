import { gzipSync } from "node:zlib";
import type { z } from "zod";
import { acceptGroup } from "../../../src/agent/core/apply/accept-group.ts";
import { FileIntake } from "../../../src/agent/files/intake.ts";
import { validateBy } from "../../../src/control-plane/api/errors.ts";
import { parseBody } from "../../../src/control-plane/api/json-body.ts";
import { readListCursor } from "../../../src/control-plane/api/paging.ts";
import { encodeCursor } from "../../../src/control-plane/core/cursor.ts";
import { applyReportDelta } from "../../../src/control-plane/core/device-report.ts";
import { decodeEnd, decodeRequest, decodeStreamEnd } from "../../../src/control-plane/devices/gateway/wire.ts";
import { OidcProvider } from "../../../src/control-plane/accounts/oidc/provider.ts";
import { dailyUsageSchema, simPageSchema } from "../../../src/control-plane/sim-operator/emnify/responses.ts";
import { parseAnswer } from "../../../src/control-plane/sim-operator/http/answers.ts";
import { readJson } from "../../../src/control-plane/sim-operator/http/read-response.ts";
import { usagePageSchema } from "../../../src/control-plane/sim-operator/super-sim/responses.ts";
import { EdgeError } from "../../../src/protocol/errors/errors.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { applyRequestSchema } from "../../../src/protocol/apps/apply.ts";
import { assetRegistrationSchema, assetUpdateSchema } from "../../../src/protocol/assets/asset-request.ts";
import { parseBoundedJson } from "../../../src/protocol/values/bounded-json.ts";
import { deployRequestSchema } from "../../../src/protocol/apps/deploy-request.ts";
import { QUERIES } from "../../../src/protocol/link/device-query.ts";
import { decodeAgentFrame, decodeControlFrame } from "../../../src/protocol/link/frames.ts";
import { parseSelector } from "../../../src/protocol/fleets/selector.ts";
import { clientStreamFrameSchema } from "../../../src/protocol/link/streams.ts";
import { tagsSchema } from "../../../src/protocol/fleets/tags.ts";
import { variablesSchema } from "../../../src/protocol/values/variables.ts";
import { each, type EntryPoint, type Input, jsonInputs } from "./entry-point.ts";

const APP_REPORT =
  '{"name":"a","image":"i","image_digest":null,"state":"running","desired_state":"running","since":null,"restarts":0,' +
  '"last_deployment":null,"spec":';

/** Validates a body as the API does, and describes what is wrong with it. */
const bodyOf =
  (...schemas: readonly z.ZodType[]) =>
  async (bytes: Buffer): Promise<void> => {
    const body = parseBody(bytes);
    await each(schemas, (schema) => validateBy(schema)(body));
  };

const oidcSettings = {
  issuer: "https://id.example.com",
  clientId: "id",
  clientSecretFile: undefined,
  scope: "openid",
  redirectUri: "https://edge.example.com/callback",
} as unknown as ConstructorParameters<typeof OidcProvider>[0];

async function discover(bytes: Buffer): Promise<void> {
  const own = globalThis.fetch;
  const response = new Response(bytes, { headers: { "content-type": "application/json" } });
  globalThis.fetch = () => Promise.resolve(response);
  try {
    const provider = new OidcProvider(oidcSettings, systemClock);
    await provider.authorizationUrl(provider.createChecks());
  } finally {
    globalThis.fetch = own;
  }
}

/** Files that unpack to a thousand times their size: one, as many as a request has, and one that says that it is small. */
function* packedFiles(): Generator<Input> {
  const packed = gzipSync(Buffer.alloc(16 * 1024 * 1024), { level: 9 });
  const lying = Buffer.concat([packed.subarray(0, -4), Buffer.from([1, 0, 0, 0])]);
  for (const [name, content, apps] of [
    ["one", packed, 1],
    ["many", packed, 30],
    ["one that lies about its size", lying, 1],
    ["many that lie", lying, 30],
  ] as const) {
    const files = [{ target: "/a", content_gzip: content.toString("base64") }];
    const entries = Array.from({ length: apps }, (_, index) => ({ app: { name: `a${index}`, image: "i", files } }));
    const frame = { type: "apply", deployment_id: "d", request: { project: "p", apps: entries } };
    yield { name, bytes: Buffer.from(JSON.stringify(frame)) };
  }
}

/** What devices, the control plane, clients, other instances, SIM operators and identity providers send. */
export const LINK_ENTRY_POINTS: readonly EntryPoint[] = [
  {
    name: "report and events of a device",
    from: "device",
    files: ["src/protocol/link/frames.ts"],
    inputs: () =>
      jsonInputs("frame", [
        [`{"type":"report","base":null,"hash":"h","removed_apps":[],"apps":[${APP_REPORT}`, "}]}"],
        ['{"type":"report","base":null,"hash":"h","removed_apps":[],"apps":', "}"],
        ['{"type":"hello","protocol":1,"agent_version":"1","deployments":', "}"],
        [
          '{"type":"event","deployment_id":"d","event":{"status":"Running","message":"m","step":"pulling","device_seq":1,"details":',
          "}}",
        ],
      ]),
    run: (bytes) => {
      const decoded = decodeAgentFrame(bytes);
      if (decoded.kind !== "frame" || decoded.frame.type !== "report") return;
      JSON.stringify(applyReportDelta(undefined, decoded.frame));
    },
  },
  {
    name: "cursors of lists",
    from: "client",
    files: ["src/control-plane/api/paging.ts"],
    inputs: () =>
      jsonInputs("short", [
        ['["",{"status":', "},{}]"],
        ['["",{},', "]"],
      ]),
    run: (bytes) => {
      try {
        readListCursor(encodeCursor(bytes.toString("latin1")), ["status"]);
      } catch (error) {
        if (!(error instanceof EdgeError)) throw error;
      }
    },
  },
  {
    name: "answers of a device",
    from: "device",
    files: ["src/protocol/link/frames.ts", "src/control-plane/fleets/to-facts.ts"],
    inputs: () =>
      jsonInputs("frame", [
        ['{"type":"answer","query_id":"q","body":', "}"],
        ['{"type":"answer","query_id":"q","body":{"days":', "}}"],
        ['{"type":"answer","query_id":"q","body":{"apps":', "}}"],
        ['{"type":"answer","query_id":"q","body":{"deployments":', "}}"],
        ['{"type":"answer","query_id":"q","body":{"days":[{"by_app":', "}]}}"],
      ]),
    run: (bytes) => {
      const decoded = decodeAgentFrame(bytes);
      if (decoded.kind !== "frame" || decoded.frame.type !== "answer") return undefined;
      const { body } = decoded.frame;
      return each(Object.values(QUERIES), ({ answer }) => answer.safeParse(body));
    },
  },
  {
    name: "commands of the control plane",
    from: "control plane",
    files: ["src/protocol/link/frames.ts", "src/agent/local/server.ts", "src/agent/core/app/adopt.ts"],
    inputs: () =>
      jsonInputs("frame", [
        ['{"type":"apply","deployment_id":"d","request":', "}"],
        ['{"type":"apply","deployment_id":"d","request":{"apps":', "}}"],
        ['{"type":"apply","deployment_id":"d","request":{"apps":[{"name":"a","image":"i","environments":', "}]}}"],
        ['{"type":"apply","deployment_id":"d","request":{"apps":[{"name":"a","image":"i","labels":', "}]}}"],
      ]),
    run: (bytes) => {
      const decoded = decodeControlFrame(bytes);
      if (decoded.kind !== "frame" || decoded.frame.type !== "apply") return;
      acceptGroup(decoded.frame.request, {
        id: "d",
        order: 1,
        origin: "control_plane",
        options: {},
        apps: [],
        activeDeploymentOf: () => undefined,
        takeFiles: () => [],
      } as unknown as Parameters<typeof acceptGroup>[1]);
    },
  },
  {
    name: "packed files of an apply",
    from: "control plane",
    files: ["src/agent/files/intake.ts"],
    inputs: packedFiles,
    run: (bytes) => {
      const decoded = decodeControlFrame(bytes);
      if (decoded.kind !== "frame" || decoded.frame.type !== "apply") throw new Error("is no apply");
      const intake = new FileIntake({ fileContent: () => undefined }, "/nowhere");
      const context = { id: "d", order: 1, origin: "control_plane", options: {}, apps: [] } as const;
      acceptGroup(decoded.frame.request, { ...context, activeDeploymentOf: () => undefined, takeFiles: intake.take });
    },
  },
  {
    name: "bodies of requests",
    from: "client",
    files: ["src/control-plane/api/json-body.ts"],
    inputs: () =>
      jsonInputs(
        "request",
        [
          ["", ""],
          ['{"apps":', "}"],
          ['{"name":"a","image":"i","environments":', "}"],
          ['{"name":"a","image":"i","labels":', "}"],
          ['{"tags":', "}"],
        ],
        768 * 1024,
      ),
    run: bodyOf(
      applyRequestSchema,
      deployRequestSchema,
      assetRegistrationSchema,
      assetUpdateSchema,
      tagsSchema,
      variablesSchema,
    ),
  },
  {
    name: "text frames of streams",
    from: "client",
    files: [
      "src/control-plane/devices/hub/session-streams.ts",
      "src/control-plane/devices/streams/client-connection.ts",
      "src/edgectl/streams/connection.ts",
    ],
    inputs: () =>
      jsonInputs("stream_frame", [['{"type":"stream_open","stream_id":1,"kind":"exec","credit":1,"params":', "}"]]),
    run: (bytes) => clientStreamFrameSchema.safeParse(parseBoundedJson(bytes, "stream_frame")),
  },
  {
    name: "selector",
    from: "client",
    files: ["src/protocol/fleets/selector.ts"],
    inputs: () => [
      { name: "open quotes", bytes: Buffer.from(`a="${'\\"'.repeat(500)}`) },
      { name: "terms", bytes: Buffer.from("a=b,".repeat(256)) },
      { name: "spaces", bytes: Buffer.from(" ".repeat(1024)) },
    ],
    run: (bytes) => parseSelector(bytes.toString()),
  },
  {
    name: "messages of other instances",
    from: "NATS",
    files: [
      "src/control-plane/devices/gateway/wire.ts",
      "src/control-plane/bus/linked-bus.ts",
      "src/control-plane/instances/shared-counts.ts",
    ],
    inputs: () =>
      jsonInputs("instance", [
        ['{"type":"query","asset":"a","what":"report","params":', "}"],
        ['{"code":"Internal","details":', "}"],
      ]),
    run: (bytes) => each([decodeRequest, decodeEnd, decodeStreamEnd], (decode) => decode(bytes)),
  },
  {
    name: "answers of SIM operators",
    from: "operator",
    files: ["src/control-plane/sim-operator/http/read-response.ts"],
    inputs: () =>
      jsonInputs("operator", [
        ["", ""],
        ['{"meta":{},"usage_records":', "}"],
      ]),
    run: async (bytes) => {
      const answer = await readJson(new Response(bytes));
      await each([simPageSchema, dailyUsageSchema, usagePageSchema], (schema) => parseAnswer(schema, answer));
    },
  },
  {
    name: "documents of an identity provider",
    from: "OIDC provider",
    files: ["src/control-plane/accounts/oidc/provider.ts", "src/control-plane/api/people/oidc.ts"],
    inputs: () => jsonInputs("oidc", [['{"issuer":"https://id.example.com","x":', "}"]]),
    run: discover,
  },
];
