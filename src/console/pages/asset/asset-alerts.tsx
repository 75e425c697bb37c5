import { useQuery } from "@tanstack/react-query";
import { Box, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import { AlertTable } from "../alerts/alert-list.tsx";

/** The alerts of the asset that fire; nothing if there are none. */
export function AssetAlerts({ assetId }: { readonly assetId: string }): ReactNode {
  const mayRead = usePermission("alerts.read");
  const { data } = useQuery({
    queryKey: [...KEYS.alerts, "of-asset", assetId],
    queryFn: ({ signal }) => call("GET /v1/alerts", { query: { asset: assetId }, signal }),
    enabled: mayRead,
  });
  if (!data || data.alerts.length === 0) return null;
  return (
    <Box component="section" aria-labelledby="open-alerts" mb="md">
      <Title order={2} id="open-alerts" mb="xs">
        Open alerts
      </Title>
      <AlertTable label="Open alerts" alerts={data.alerts} isOfAsset />
    </Box>
  );
}
