import { Button, Stack, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import type { AppDeploymentRequest } from "../../../protocol/api-types.ts";
import { PageTitle } from "../../parts/page-title.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { useAsset } from "../asset/asset-queries.ts";
import { DeploymentView } from "../deployment/deployment-view.tsx";
import { dryRun, startDeployment } from "../deployment/start-deployment.ts";
import { DeployFormView } from "./deploy-form-view.tsx";
import { EMPTY_APP, toDeployment } from "./deploy-form.ts";

const OPERATION = "POST /v1/assets/{asset_id}/edge/apps";
const PARAMETER = "deployment";

/** Deploys a new app. The running deployment is in the address: a reload takes it up again. */
export function DeployPage(): ReactNode {
  const { asset_id: assetId = "" } = useParams();
  const asset = useAsset(assetId);
  const [form, setForm] = useState(EMPTY_APP);
  const [parameters, setParameters] = useSearchParams();
  const deploymentId = parameters.get(PARAMETER);
  const [hasFailed, setFailed] = useState(false);
  const path = { asset_id: assetId };
  return (
    <>
      <PageTitle title="Deploy an app" />
      <Text size="sm" mb="md" component="div">
        To{" "}
        <Link to={`/assets/${assetId}`}>
          <SafeText text={asset.data?.name ?? assetId} max={200} />
        </Link>
      </Text>
      <Stack gap="lg">
        {deploymentId !== null && (
          <DeploymentView
            assetId={assetId}
            deploymentId={deploymentId}
            onEnd={(isSuccess) => setFailed(!isSuccess)}
            actions={
              <>
                <Button component={Link} to={`/assets/${assetId}`}>
                  Show the asset
                </Button>
                <Button variant="default" onClick={() => setParameters({})}>
                  {hasFailed ? "Change the form" : "Deploy another app"}
                </Button>
              </>
            }
          />
        )}
        <div hidden={deploymentId !== null}>
          <DeployFormView<AppDeploymentRequest>
            assetId={assetId}
            form={form}
            onChange={setForm}
            build={toDeployment}
            dryRun={(body) => dryRun(OPERATION, { path, body, query: { dry_run: "true" } })}
            start={(body, key) => startDeployment(OPERATION, { path, body, query: {} }, key)}
            onStarted={(id) => setParameters({ [PARAMETER]: id })}
            verb="Deploy"
            isUpdate={false}
          />
        </div>
      </Stack>
    </>
  );
}
