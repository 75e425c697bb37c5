import { Button, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useParams } from "react-router";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { Deployment } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { DeploymentView } from "./deployment-view.tsx";

/** One deployment, under way or ended. Its id is in the address, so a reload takes it up again. */
export function DeploymentPage(): ReactNode {
  const { asset_id: assetId = "", deployment_id: deploymentId = "" } = useParams();
  const record = useQuery({
    queryKey: [...KEYS.deployments(assetId), deploymentId],
    queryFn: ({ signal }) =>
      call("GET /v1/assets/{asset_id}/edge/deployments/{deployment_id}", {
        path: { asset_id: assetId, deployment_id: deploymentId },
        signal,
      }),
  });
  return (
    <Loaded query={record}>
      {(deployment) => (
        <>
          <PageTitle title={titleOf(deployment)} heading={<SafeText text={titleOf(deployment)} />} />
          <Stack gap="md">
            <Text size="sm" c="dimmed" component="div">
              Requested <Age at={deployment.created_at} />
              {deployment.image !== undefined && (
                <>
                  {" · "}
                  <SafeText text={deployment.image} max={200} />
                </>
              )}
              {" · "}
              {deployment.deployment_id}
            </Text>
            <DeploymentView
              assetId={assetId}
              deploymentId={deploymentId}
              actions={
                <Button component={Link} to={`/assets/${assetId}`}>
                  Show the asset
                </Button>
              }
            />
          </Stack>
        </>
      )}
    </Loaded>
  );
}

const VERBS: Readonly<Record<string, string>> = {
  deploy: "Deployment of",
  update: "Update of",
  remove: "Removal of",
  stop: "Stop of",
  start: "Start of",
  restart: "Restart of",
  apply: "Group",
};

function titleOf({ action, app, dry_run: isDryRun }: Deployment): string {
  return `${VERBS[action] ?? action} ${app}${isDryRun ? " (only checked)" : ""}`;
}
