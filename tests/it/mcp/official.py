"""A client that none of us wrote: the package `mcp`. Prints one JSON object of what it saw."""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


async def seen(program, directory, mode):
    steps = []

    async def progress(value, _total, message):
        steps.append([value, message])

    server = StdioServerParameters(command=program, args=["-C", directory, "mcp"], env=json.load(sys.stdin))
    async with Client(server, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        asked = await client.call_tool("ticket", {"summary": "Dark mode"}, progress_callback=progress)
        token = asked.structured_content["resumeToken"]
        lacking = await client.call_tool("resume_workflow", {"resumeToken": token, "results": {}})
        results = {"ticketKey": "PROJ-1", "ticketUrl": "u"}
        done = await client.call_tool("resume_workflow", {"resumeToken": token, "results": results})
        try:
            await client.call_tool("nope", {})
            refused = None
        except Exception as error:  # noqa: BLE001
            refused = str(error)
        resources = [str(one.uri) for one in (await client.list_resources()).resources]
        run = await client.read_resource(f"synthdev://runs/{done.structured_content['workflowId']}")
        return {
            "tools": tools,
            "asked": asked.structured_content,
            "lacking": [lacking.is_error, lacking.structured_content],
            "done": done.structured_content,
            "refused": refused,
            "resources": len(resources),
            "run": json.loads(run.contents[0].text)["status"],
            "progress": steps,
        }


print(json.dumps(asyncio.run(seen(*sys.argv[1:4]))))
