// Shows /openapi.json in Swagger UI.
window.ui = SwaggerUIBundle({ url: 'openapi.json', dom_id: '#page', deepLinking: true, validatorUrl: null });
