import { Code, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { CopyOnce } from "../../parts/copy-once.tsx";
import { toCurl } from "./to-curl.ts";

const NO_NOTE = "";

/** Ready command lines with an asset of the account. */
export function CurlLines(): ReactNode {
  const { data } = useQuery({
    queryKey: [...KEYS.assets, "first"],
    queryFn: ({ signal }) => call("GET /v1/assets", { signal, query: { limit: "1" } }),
  });
  const asset = data?.assets[0]?.serial_number;
  const base = location.origin;
  const of = (path: string): string => `/v1/assets/${encodeURIComponent(asset ?? "SERIAL-NUMBER")}${path}`;
  const lines = [
    ["The assets of the account", toCurl(base, "GET", "/v1/assets?limit=5")],
    ["What needs attention", toCurl(base, "GET", "/v1/overview")],
    [asset === undefined ? "Apps of an asset" : `Apps of ${asset}`, toCurl(base, "GET", of("/edge/apps"))],
    [
      "Price of a deployment in bytes, without deploying",
      toCurl(base, "POST", of("/edge/apps?dry_run=true"), { name: "web", image: "docker.io/library/nginx:alpine" }),
    ],
  ] as const;
  return (
    <Stack gap="sm">
      <Text size="sm">
        With a key in the environment: <Code>export EDGE_API_KEY=…</Code>
        {data && asset === undefined && " There is no asset yet: put a serial number in the place of SERIAL-NUMBER."}
      </Text>
      {lines.map(([label, line]) => (
        <CopyOnce key={label} label={label} value={line} note={NO_NOTE} />
      ))}
    </Stack>
  );
}
