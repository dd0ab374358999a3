"""A chat page of Chainlit, as its documentation writes one for OpenAI's client."""

import os

import chainlit as cl
from openai import APIError, AsyncOpenAI

client = AsyncOpenAI(base_url=os.environ["DOOR_URL"] + "/v1", api_key="none")


@cl.on_message
async def answer(_: cl.Message):
    reply = cl.Message("")
    try:
        pieces = await client.chat.completions.create(model="thinkd", messages=cl.chat_context.to_openai(), stream=True)
        async with pieces:
            async for piece in pieces:
                if piece.choices and (token := piece.choices[0].delta.content):
                    await reply.stream_token(token)
        await reply.update()
    except APIError as error:
        await cl.ErrorMessage(error.message).send()
