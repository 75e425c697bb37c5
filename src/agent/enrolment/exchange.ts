import { request as requestHttp, type RequestOptions } from "node:http";
import { request as requestTls } from "node:https";
import { z } from "zod";
import { systemClock } from "../../lib/clock.ts";
import { readBody } from "../../lib/registry/read-body.ts";
import { JSON_LIMITS } from "../../protocol/values/bounded-json.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { type Enrolment, enrolmentSchema } from "../../protocol/assets/enrolment.ts";
import { errorEntry, isErrorCode } from "../../protocol/errors/errors.ts";
import type { Config } from "../config/load.ts";
import { stripBrackets } from "../core/net/hostname.ts";
import { explainNetworkError } from "../core/net/network-error.ts";
import { ADDRESS_TIMEOUT_MS, verifyHost } from "../net/connect-options.ts";
import { createTunnelAgent, proxyFor } from "../net/proxy.ts";
import { createTrustContext } from "../net/trust.ts";

const CREATED = 201;
const STALL_MS = 30_000;
const AGENT_PATH = "/v1/agent";
const SCHEMES: Readonly<Record<string, string>> = { "https:": "wss:", "http:": "ws:" };

const refusalSchema = z.object({ code: z.string(), message: z.string() });

export type ExchangeResult =
  | { readonly ok: true; readonly enrolment: Enrolment }
  | { readonly ok: false; readonly reason: string; readonly next?: string };

/**
 * Exchanges an enrolment code for a device token, by the same route as the link. Can be repeated with the same nonce.
 *
 * @param nowMs the device's time, to explain a certificate that is not valid at it
 */
export async function exchangeCode(
  config: Pick<Config, "control_plane_url" | "extraCa">,
  body: { readonly code: string; readonly nonce: string },
  nowMs: number,
  signal: AbortSignal,
): Promise<ExchangeResult> {
  let response: HttpResponse;
  try {
    response = await post(config, JSON.stringify(body), signal);
  } catch (error) {
    const why = signal.aborted ? "it did not answer in time" : explainNetworkError(error, nowMs);
    return { ok: false, reason: `the code could not be exchanged: ${why}`, next: "Try again with the same code." };
  }
  const value = parseJson(response.body, "short");
  if (response.status === CREATED) {
    const enrolment = enrolmentSchema.safeParse(value);
    if (enrolment.success) return { ok: true, enrolment: enrolment.data };
  }
  return refusal(response.status, value);
}

function refusal(status: number, value: unknown): ExchangeResult {
  const { data } = refusalSchema.safeParse(value);
  if (data && isErrorCode(data.code) && data.code !== "NotFound") {
    return { ok: false, reason: data.message.replace(/\.$/, ""), next: errorEntry(data.code).hint };
  }
  return {
    ok: false,
    reason: `the control plane does not exchange enrolment codes (HTTP ${status})`,
    next: "Check the address: it may be that of another service.",
  };
}

interface HttpResponse {
  readonly status: number;
  readonly body: Uint8Array;
}

async function post(
  { control_plane_url: address, extraCa }: Pick<Config, "control_plane_url" | "extraCa">,
  body: string,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const url = enrolmentAddress(address);
  const secureContext = extraCa === undefined ? undefined : createTrustContext(extraCa);
  const proxy = proxyFor(url.href);
  const tunnel = proxy && (await createTunnelAgent(proxy, { signal, secureContext }));
  const options: RequestOptions & Record<string, unknown> = {
    method: "POST",
    signal,
    agent: tunnel?.agent ?? false,
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
    headers: { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) },
    checkServerIdentity: verifyHost(stripBrackets(url.hostname)),
    ...(secureContext && { secureContext }),
  };
  return await new Promise((resolve, reject) => {
    const call = (url.protocol === "https:" ? requestTls : requestHttp)(url, options, (response) => {
      readBody(response, { maxBytes: JSON_LIMITS.short.maxBytes, stallMs: STALL_MS, clock: systemClock }).then(
        (content) => resolve({ status: response.statusCode ?? 0, body: content }),
        reject,
      );
    });
    call.on("error", reject);
    call.end(body);
  });
}

/**
 * Completes a typed address: `control.example.com` and `https://control.example.com` become
 * `wss://control.example.com/v1/agent`. Returns an invalid address unchanged; the configuration's schema rejects it.
 */
export function controlPlaneAddress(typed: string): string {
  const url = URL.parse(typed.includes("://") ? typed : `https://${typed}`);
  if (!url) return typed;
  const address = url.href.replace(url.protocol, SCHEMES[url.protocol] ?? url.protocol);
  return url.pathname === "/" && url.search === "" ? address.replace(/\/?$/, AGENT_PATH) : address;
}

/** Returns the URL of the enrolment endpoint. */
export function enrolmentAddress(controlPlane: string): URL {
  return new URL("enrolments", controlPlane.replace(/^ws/, "http"));
}
