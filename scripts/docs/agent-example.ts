import { configSchema } from "../../src/agent/config/schema.ts";

/** The agent's example configuration: what must be set, and every default where one would look for it. */
export function agentExample(): string {
  const { device_token: _token, ...config } = configSchema.parse({
    control_plane_url: "wss://control.example.com/v1/agent",
    device_token_file: "/etc/edge-agent/token",
  });
  return JSON.stringify(config, undefined, 2);
}
