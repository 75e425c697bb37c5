import { Button, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { useRouteError } from "react-router";
import { toFailure } from "../api/failure.ts";
import { FailureNote } from "../parts/failure-note.tsx";
import { PageTitle } from "../parts/page-title.tsx";

/** Shown in place of a page that failed to load or to render. */
export function ErrorPage(): ReactNode {
  const error = useRouteError();
  return (
    <Stack gap="md" maw="40rem">
      <PageTitle title="This page does not work" />
      <FailureNote failure={toFailure(error)} />
      <Button variant="default" onClick={() => location.reload()} style={{ alignSelf: "start" }}>
        Reload the page
      </Button>
    </Stack>
  );
}
