import type { Config } from "../config/load.ts";
import type { LinkConfig } from "./ports.ts";

const RECONNECT_BASE_MS = 1_000;

/** Returns the part of the configuration that the link uses. */
export function toLinkConfig(config: Config, bootId: string | undefined): LinkConfig {
  const { link } = config;
  return {
    url: config.control_plane_url,
    token: config.token,
    bootId,
    extraCa: config.extraCa,
    keepaliveMs: link.keepalive_s * 1000,
    pongTimeoutMs: link.pong_timeout_s * 1000,
    backoff: { baseMs: RECONNECT_BASE_MS, maxMs: link.reconnect_max_s * 1000 },
  };
}
